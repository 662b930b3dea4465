/** Reads the two texts aloud, with voices of this device only: others would send the text to another server. */

import { byId } from "../frame/dom.js";
import { t, whenLocaleChanges } from "../frame/strings.js";

const primary = (tag) => tag.toLowerCase().split(/[-_]/)[0];

/** The device's voice for a language, preferably the default one; undefined if there is none. */
export function voiceFor(voices, language) {
  const fitting = voices.filter(({ lang, localService }) => localService && primary(lang) === primary(language));
  return fitting.find((voice) => voice.default) ?? fitting[0];
}

/** Show a button in each pane whose language has a voice. `translation()` returns the shown translation. */
export function watchSpeech(store, translation) {
  const speech = globalThis.speechSynthesis;
  if (!speech) return;
  const sides = ["source", "target"].map((side) => ({ side, button: byId(`speak-${side}`) }));
  let speaking = null;

  const spoken = (side) => {
    const { result, text, format } = store.state;
    if (!result || format !== "text") return null;
    return side === "source" ? { text, language: result.translation.source } : { text: translation(), language: result.translation.target };
  };
  const show = () => {
    for (const { side, button } of sides) {
      const wanted = spoken(side);
      button.hidden = !wanted || !voiceFor(speech.getVoices(), wanted.language);
      button.ariaPressed = String(side === speaking);
      button.title = button.ariaLabel = t(side === speaking ? "speech.stop" : "speech.start");
    }
  };
  const stop = () => {
    if (speaking) speech.cancel();
    speaking = null;
  };
  for (const { side, button } of sides) {
    button.onclick = () => {
      const isOver = side === speaking;
      stop();
      if (!isOver) {
        const { text, language } = spoken(side);
        const utterance = new SpeechSynthesisUtterance(text);
        utterance.voice = voiceFor(speech.getVoices(), language);
        utterance.lang = utterance.voice.lang;
        utterance.onend = utterance.onerror = () => { if (speaking === side) { speaking = null; show(); } };
        speaking = side;
        speech.speak(utterance);
      }
      show();
    };
  }
  store.watch((_, changed) => {
    if (!["result", "text", "choices", "format"].some((name) => changed.has(name))) return;
    stop();
    show();
  });
  speech.addEventListener?.("voiceschanged", show);
  whenLocaleChanges(show);
  show();
}
