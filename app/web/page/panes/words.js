/** Words, links and confidence of a translation's sentences, from an answer of POST /translate. */

import { unitOffsets } from "../frame/offsets.js";

const overlaps = (token, [from, to]) => token.start < to && token.end > from;

/** Geometric mean of the probabilities of a word's tokens; null if it has none. */
export function wordConfidence(tokens, word) {
  const logs = tokens.filter((token) => overlaps(token, word)).map((token) => token.log_prob);
  return logs.length ? Math.exp(logs.reduce((a, b) => a + b, 0) / logs.length) : null;
}

/**
 * Sentences of a text and its translation, in UTF-16 units:
 * {source, target: [from, to], sourceWords, targetWords: [[from, to]], links: [[s, t]], confidence: [of each target word],
 * faults: [{flag, source, target: [[from, to]]}]}.
 */
export function sentencesOf(text, translation) {
  const inText = unitOffsets(text);
  const inAnswer = unitOffsets(translation.text);
  const at = (units, [from, to]) => [units[from], units[to]];
  return (translation.segments ?? []).map((segment) => {
    const targetWords = segment.target_words ?? [];
    return {
      source: at(inText, segment.source),
      target: at(inAnswer, segment.target),
      sourceWords: (segment.source_words ?? []).map((word) => at(inText, word)),
      targetWords: targetWords.map((word) => at(inAnswer, word)),
      links: segment.alignment ?? [],
      confidence: targetWords.map((word) => wordConfidence(segment.target_tokens, word)),
      faults: (segment.faults ?? []).map(({ flag, source, target }) => ({
        flag,
        source: source.map((place) => at(inText, place)),
        target: target.map((place) => at(inAnswer, place)),
      })),
    };
  });
}

/** The words on one side that are linked to word `index` on the other. */
export function linkedTo(links, side, index) {
  const [here, there] = side === "source" ? [0, 1] : [1, 0];
  return links.filter((link) => link[here] === index).map((link) => link[there]);
}

/** Confidence below which a word looks a little, more or very uncertain. */
export const UNCERTAIN = [0.6, 0.4, 0.2];

/** How uncertain a word looks: 0 (not at all) … 3. */
export const doubt = (confidence) => (confidence === null ? 0 : UNCERTAIN.filter((limit) => confidence < limit).length);

/** The index of the sentence at a position: the last that begins before it, or −1. */
export function sentenceAt(sentences, side, position) {
  let found = -1;
  sentences.forEach((sentence, index) => {
    if (sentence[side][0] <= position) found = index;
  });
  return found;
}

/** The texts of each fault of a sentence: [[flag, in the source, in the translation]]. */
export function differences(text, answer, { faults }) {
  const parts = (whole, places) => places.map(([from, to]) => whole.slice(from, to)).join(", ");
  return faults.map(({ flag, source, target }) => [flag, parts(text, source), parts(answer, target)]);
}
