import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./browser.mjs";

const { length, unitOffsets } = await page("frame/offsets");
const { decodeHalf } = await page("views/half");
const { History } = await page("state/history");
const { EMPTY, fromFragment, toFragment } = await page("state/address");
const { EventParser } = await page("server/events");
const { differences, doubt, linkedTo, sentenceAt, sentencesOf, wordConfidence } = await page("panes/words");
const { Store } = await page("state/store");
const { explained, pairsInWords } = await page("panes/problems");
const { glossaryFields } = await page("panes/glossary");
const { directionOf, targetsOf } = await page("panes/languages");
const { isMeant } = await page("panes/language_search");
const { looksLikeHtml } = await page("panes/translate");
const { translatedName } = await page("panes/files");
const { withEntry } = await page("panes/saved");
const { voiceFor } = await page("panes/speech");
const { label, axes } = await page("views/tokens");
const { headWeights } = await page("views/attention");
const { cosines, period } = await page("views/positions");
const { sublayers } = await page("views/figure1");
const { kindOf, rowsOf, sinusoids } = await page("views/block");
const { piecesOf } = await page("views/formula");
const { entropy, roleOf } = await page("views/head_role");
const { headOf } = await page("views/maps");
const { linesOf } = await page("views/lines");
const { specialsOf, targetOf } = await page("views/specials");
const { dotProduct, moved } = await page("views/word_order");
const { firstToken, mostDifferent } = await page("views/compare");
const { stepsFor } = await page("views/tour");
const { endOf, fateOf, pathTo, saidBy } = await page("views/search_tree");
const { bodyOf, examples } = await page("server/clients");
const { shownType, withoutRefs } = await page("reference/schema");
const { ENGLISH } = await page("frame/english");
const { FRENCH } = await page("frame/french");
const { GERMAN } = await page("frame/german");
const { SPANISH } = await page("frame/spanish");
const { setLocale, t } = await page("frame/strings");

test("offsets of code points are converted to UTF-16", () => {
  assert.deepEqual(unitOffsets("a😀b"), [0, 1, 3, 4]);
  assert.deepEqual(unitOffsets(""), [0]);
  assert.equal(length("a😀b"), 3);
});

test("two sentences are compared in the head whose row differs most", () => {
  const shape = [2, 1, 2, 2];
  const one = { shape, token: 1, weights: Float32Array.of(1, 0, 0.5, 0.5, 1, 0, 0.5, 0.5) };
  const other = { shape, token: 1, weights: Float32Array.of(0, 1, 0.5, 0.5, 1, 0, 0.25, 0.75) };
  assert.deepEqual(mostDifferent(one, other), { layer: 1, head: 0 });
  assert.equal(mostDifferent(one, { ...other, shape: [2, 1, 3, 3] }), null);
});

test("a voice is local and of the language, the default one first", () => {
  const voices = [
    { lang: "fr-FR", localService: false, default: true }, { lang: "fr_CA", localService: true },
    { lang: "fr-FR", localService: true, default: true }, { lang: "en-GB", localService: true },
  ];
  assert.equal(voiceFor(voices, "fr"), voices[2]);
  assert.equal(voiceFor(voices.slice(0, 2), "fr-FR"), voices[1]);
  assert.equal(voiceFor(voices.slice(0, 1), "fr"), undefined);
  assert.equal(voiceFor(voices, "de"), undefined);
});

test("float16 is read to the last bit", () => {
  const bits = [0x0000, 0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff, 0x7c00];
  const bytes = String.fromCharCode(...bits.flatMap((one) => [one & 255, one >> 8]));
  const [zero, one, minusTwo, third, smallest, largest, infinite] = decodeHalf(btoa(bytes));
  assert.deepEqual([zero, one, minusTwo, largest, infinite], [0, 1, -2, 65504, Infinity]);
  assert.ok(Math.abs(third - 1 / 3) < 1e-3);
  assert.equal(smallest, 2 ** -24);
});

test("typing is undone in one step, other changes one by one", () => {
  const history = new History({ text: "" });
  for (const text of ["a", "ab", "abc"]) history.note({ text }, "typing");
  history.note({ text: "" });
  history.note({ text: "x" }, "typing");
  assert.deepEqual(history.undo(), { text: "" });
  assert.deepEqual(history.undo(), { text: "abc" });
  assert.deepEqual(history.undo(), { text: "" });
  assert.equal(history.undo(), undefined);
  assert.deepEqual(history.redo(), { text: "abc" });
  history.note({ text: "other" });
  assert.equal(history.canRedo, false);
});

test("a state without changes is not a step", () => {
  const history = new History({ text: "", target: "" });
  history.amend({ target: "fr" });
  history.note({ text: "", target: "fr" });
  assert.equal(history.canUndo, false);
});

test("repeated changes are one step, and a pause starts another", () => {
  const history = new History("");
  history.note("a", "typing");
  history.note("a", "typing");
  history.settle();
  history.note("ab", "typing");
  assert.equal(history.undo(), "a");
});

test("a URL reproduces any state", () => {
  const state = { ...EMPTY, view: "inside", source: "en", target: "fr", text: "a & b?\n#😀+%", format: "html", glossary: [["house", "demeure"], ["Apple Pay", ""]], choices: { "One & two.": "Un ou deux ?" } };
  assert.deepEqual(fromFragment(toFragment(state)), state);
  assert.deepEqual(fromFragment(""), EMPTY);
  assert.deepEqual(fromFragment("#/nowhere?format=exe&term=lonely"), EMPTY);
});

test("events are parsed from chunks cut anywhere", () => {
  const stream = 'event: token\ndata: {"index":0,"text":"Il"}\n\n: ping\n\nevent: done\ndata: {"a":1}\n\n';
  for (let cut = 0; cut <= stream.length; cut += 1) {
    const parser = new EventParser();
    const events = [...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))];
    assert.deepEqual(events, [{ event: "token", data: { index: 0, text: "Il" } }, { event: "done", data: { a: 1 } }]);
  }
});

const TRANSLATION = {
  text: "😀 Le chat.", segments: [{
    source: [2, 10], target: [2, 10], source_words: [[2, 5], [6, 9]], target_words: [[2, 4], [5, 9]], alignment: [[0, 0], [1, 1]],
    source_tokens: [], target_tokens: [{ start: 2, end: 4, log_prob: -0.5 }, { start: 4, end: 7, log_prob: Math.log(0.5) }, { start: 7, end: 9, log_prob: Math.log(0.125) }],
  }],
};

test("words have spans, links and confidence", () => {
  const [sentence] = sentencesOf("😀 The cat.", TRANSLATION);
  assert.deepEqual(sentence.source, [3, 11]);
  assert.deepEqual(sentence.targetWords, [[3, 5], [6, 10]]);
  assert.ok(Math.abs(sentence.confidence[1] - 0.25) < 1e-12);
  assert.deepEqual(linkedTo(sentence.links, "source", 1), [1]);
  assert.deepEqual(linkedTo([[0, 1], [2, 1]], "target", 1), [0, 2]);
  assert.equal(wordConfidence([], [0, 1]), null);
});

test("faults have spans in UTF-16 units, and the parts that differ", () => {
  const faults = [{ flag: "numbers", source: [[2, 4]], target: [[2, 4], [5, 6]] }, { flag: "facts", source: [[5, 8]], target: [] }];
  const answer = { text: "😀 43 4 chats.", segments: [{ ...TRANSLATION.segments[0], faults }] };
  const [sentence] = sentencesOf("😀 42 XIV.", answer);
  assert.deepEqual(sentence.faults[0], { flag: "numbers", source: [[3, 5]], target: [[3, 5], [6, 7]] });
  assert.deepEqual(differences("😀 42 XIV.", answer.text, sentence), [["numbers", "42", "43, 4"], ["facts", "XIV", ""]]);
  assert.deepEqual(sentencesOf("😀 The cat.", TRANSLATION)[0].faults, []);
});

test("doubt grows as confidence falls", () => {
  assert.deepEqual([null, 0.9, 0.5, 0.3, 0.1].map(doubt), [0, 0, 1, 2, 3]);
});

test("a caret is in the sentence that it follows", () => {
  const sentences = [{ source: [0, 5] }, { source: [6, 12] }];
  assert.deepEqual([0, 5, 6, 99].map((at) => sentenceAt(sentences, "source", at)), [0, 0, 1, 1]);
  assert.equal(sentenceAt([], "source", 3), -1);
});

test("a store reports each change once", () => {
  const store = new Store({ a: 1, b: 2 });
  const changes = [];
  store.watch((state, changed) => changes.push([state, [...changed]]));
  store.set({ a: 1 });
  store.set({ a: 3, b: 2 });
  assert.deepEqual(changes, [[{ a: 3, b: 2 }, ["a"]]]);
});

test("the pairs of a server are named, or counted if there are many", () => {
  const both = [{ code: "en", targets: ["fr"] }, { code: "fr", targets: ["en"] }];
  assert.equal(pairsInWords(both), "English ↔ French");
  assert.equal(pairsInWords([{ code: "en", targets: ["en", "de", "fr"] }, { code: "fr", targets: ["en"] }]), "English → German, English ↔ French");
  const codes = ["en", "fr", "de", "es", "it"];
  assert.equal(pairsInWords(codes.map((code) => ({ code, targets: codes }))), "between 5 languages");
});

test("a failure names the detected language, if any", async () => {
  const languages = [{ code: "en", targets: ["fr"] }];
  const error = { kind: "unknown-languages", source: "de" };
  assert.equal(explained(error, { source: "auto", languages }), "This seems to be German. This server translates English → French.");
  assert.match(explained(error, { source: "de", languages }), /^This server does not translate between these languages\. This/);
});

test("entries without a translation are unchanged", () => {
  assert.deepEqual(glossaryFields([["house ", " demeure"], ["Apple", ""], ["", "x"], ["Apple", " "]]), { glossary: { house: "demeure" }, do_not_translate: ["Apple"] });
});

test("a source language has its targets, and none has all", () => {
  const languages = [{ code: "en", targets: ["fr", "de"] }, { code: "fr", targets: ["en", "fr"] }];
  assert.deepEqual(targetsOf(languages, "en"), ["fr", "de"]);
  assert.deepEqual(targetsOf(languages, "auto"), ["fr", "de", "en"]);
});

test("pieces are displayed as text", () => {
  assert.deepEqual(["▁Le", "ment", "▁", ".", "</s>", "<2fr>"].map(label), ["Le", "·ment", "␣", ".", "</s>", "<2fr>"]);
  const segment = { source_tokens: [{ piece: "▁a" }, { piece: "</s>" }], target_tokens: [{ piece: "▁x" }, { piece: "y" }] };
  assert.deepEqual(axes("cross", segment), [["x", "·y"], ["a", "</s>"]]);
  assert.deepEqual(axes("decoder", segment), [["x", "·y"], ["<s>", "x"]]);
  assert.deepEqual(axes("encoder", segment), [["a", "</s>"], ["a", "</s>"]]);
});

test("one head is selected, and the mean is over all", () => {
  const weights = Float32Array.from([1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual([...headWeights(weights, [1, 2, 2, 2], 1)], [5, 6, 7, 8]);
  assert.deepEqual([...headWeights(weights, [1, 2, 2, 2], "mean")], [3, 4, 5, 6]);
  assert.deepEqual([...headWeights(weights, [2, 1, 2, 2], "mean", 1)], [5, 6, 7, 8]);
  assert.deepEqual([...headOf(weights, [2, 1, 2, 2], 1, 0)], [5, 6, 7, 8]);
});

test("a position is most similar to itself", () => {
  const rows = 40;
  const table = Float32Array.from({ length: 2 * rows }, (_, i) => (i % 2 ? Math.cos : Math.sin)((2 * Math.PI * Math.floor(i / 2)) / 10));
  const common = cosines(table, rows, 2, 7);
  assert.ok(Math.abs(common[7] - 1) < 1e-6 && Math.abs(common[17] - 1) < 1e-5 && Math.abs(common[12] + 1) < 1e-5);
  assert.ok(Math.abs(period(table, rows, 2, 0) - 10) < 0.01);
  assert.equal(period(table, 5, 2, 0), null);
});

const beam = (parent, piece) => ({ parent, piece, log_prob: 0, likeliest: [] });
const STEPS = [
  { beams: [beam(null, null)], ended: [] },
  { beams: [beam(0, "▁Le"), beam(0, "▁La")], ended: [] },
  { beams: [beam(1, "▁fin"), beam(0, "▁chat")], ended: [{ beam: 1, text: "Le chat", score: -1, capped: false }, { beam: 0, text: "La fin", score: -2, capped: false }] },
];

test("the answer is followed back to the start", () => {
  const end = endOf(STEPS, { text: "Le chat", score: -1 });
  assert.deepEqual([end.step, end.beam], [2, 1]);
  assert.deepEqual(pathTo(STEPS, 2, 1), [[0, 0], [1, 0], [2, 1]]);
  assert.equal(saidBy(STEPS, 2, 1), "Le chat");
  assert.equal(endOf(STEPS, { text: "none", score: 5 }), null);
});

test("the outcome of a next token", () => {
  assert.deepEqual(fateOf(STEPS, 0, 0, "▁La"), { name: "survives" });
  assert.deepEqual(fateOf(STEPS, 1, 0, "▁chien"), { name: "dropped" });
  assert.deepEqual(fateOf(STEPS, 2, 1, "</s>"), { name: "finished", score: -1 });
});

test("examples have the address, the request and, if required, a key", () => {
  const body = bodyOf({ text: 'It\'s "é"\n', source: "en", target: "en", format: "html", glossary: { a: "b" }, do_not_translate: [] });
  assert.deepEqual(body, { text: 'It\'s "é"\n', source: "en", target: "en", format: "html", glossary: { a: "b" } });
  for (const [name, code] of examples("https://mt.example/base", body, true)) {
    assert.ok(code.includes("https://mt.example/base") && code.includes("KEY"), name);
  }
  const [curl, python, javascript, , deepl] = examples("http://x", body, false).map(([, code]) => code);
  assert.ok(![curl, python, javascript].some((code) => code.includes("KEY")));
  const sent = /-d '([^]*)'$/.exec(curl)[1].replaceAll("'\\''", "'"); // as a shell reads it
  assert.deepEqual(JSON.parse(sent), body);
  for (const code of [python, javascript]) assert.deepEqual(JSON.parse(/body = (.*\})/.exec(code)[1]), body);
  assert.ok(deepl.includes("EN-US"));
});

test("texts run in the direction of their first letter, empty ones in that of their language", () => {
  assert.deepEqual(["ar", "he", "fa-IR", "arb_Arab", "pa-Arab", "pa", "ks-Deva", "en", "auto"].map((code) => directionOf(code)), ["rtl", "rtl", "rtl", "rtl", "rtl", "ltr", "ltr", "ltr", "ltr"]);
  assert.equal(directionOf("auto", "12 שלום world"), "rtl");
  assert.equal(directionOf("ar", "Hello"), "ltr");
});

test("HTML is an element with its end, or an empty one", () => {
  assert.deepEqual(["<p>Hi</p>", '<a href="x">\n</a>', "a<br>b", "<img src=x>"].map(looksLikeHtml), [true, true, true, true]);
  assert.deepEqual(["a < b and c > d", "List<String> x", "</p>", "I <3 you"].map(looksLikeHtml), [false, false, false, false]);
});

test("a saved translation replaces its earlier versions", () => {
  const entry = (text, target = "fr") => ({ text, target });
  const grown = ["The", "The house", "A cat", "The house"].reduce((entries, text) => withEntry(entries, entry(text)), []);
  assert.deepEqual(grown.map(({ text }) => text), ["The house", "A cat"]);
  assert.equal(withEntry([entry("The")], entry("The house", "de")).length, 2);
});

test("a language is found by its names and its code", () => {
  assert.deepEqual(["ger", "Deut", "de", "FRAN", " "].map((typed) => isMeant(typed, "de", "German")), [true, true, true, false, true]);
  assert.ok(isMeant("franc", "fr", "French"));
});

test("a translated file has its language in its name", () => {
  assert.deepEqual(["a.md", "a.b.docx", "README", ".env"].map((name) => translatedName(name, "fr")), ["a.fr.md", "a.b.fr.docx", "README.fr", ".env.fr"]);
});

test("schemas are described in words", () => {
  const document_ = { components: { schemas: { A: { type: "object" }, E: { enum: ["x", "y"] } } } };
  assert.equal(shownType({ anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }, { type: "null" }] }, document_), "string or list of string");
  assert.equal(shownType({ $ref: "#/components/schemas/E" }, document_), '"x" or "y"');
  assert.equal(shownType({ type: "integer", minimum: 1, maximum: 8 }, document_), "integer ≥ 1 ≤ 8");
  assert.deepEqual(withoutRefs({ $ref: "#/components/schemas/A" }, document_), { type: "object" });
});

const PLACEHOLDER = /\{\w+\}/g;

for (const [name, table] of Object.entries({ FRENCH, GERMAN, SPANISH })) {
  test(`${name} has the strings of ENGLISH, in its order, with the same names in them`, () => {
    assert.deepEqual(Object.keys(table), Object.keys(ENGLISH));
    const names = (text) => (text.match(PLACEHOLDER) ?? []).sort();
    for (const [key, text] of Object.entries(ENGLISH)) assert.deepEqual(names(table[key]), names(text), key);
    for (const [key, text] of Object.entries(table)) assert.match(text, /\S/, key);
  });
}

test("a count agrees with its noun", async () => {
  await setLocale("en");
  assert.equal(t("status.threads", { n: 1 }), "1 thread");
  assert.equal(t("status.threads", { n: 2 }), "2 threads");
  assert.equal(t("count.free", { n: "1,234" }), "1,234 characters");
  await setLocale("fr");
  assert.equal(t("status.threads", { n: 1 }), "1 fil");
  await setLocale("en");
});

test("figure 1 has the order of norms and additions of a model", () => {
  const config = { d_model: 8, n_heads: 2, d_ff: 16, activation: "relu", norm_order: "post", autoregression: "self-attention" };
  const names = (changes, stack) => sublayers({ ...config, ...changes }, stack).map(({ block, kind }) => `${block.split("/").slice(1).join(".")}:${kind}`);
  assert.deepEqual(names({}, "encoder"), ["self_attention:attention", "self_attention.norm:norm", "feed_forward:ffn", "feed_forward.norm:norm"]);
  assert.deepEqual(names({ norm_order: "pre" }, "encoder").slice(0, 3), ["self_attention.norm:norm", "self_attention:attention", "self_attention.norm:add"]);
  assert.deepEqual(names({ autoregression: "ssru" }, "decoder").slice(0, 3), ["ssru:attention", "ssru.norm:norm", "cross_attention:attention"]);
  assert.deepEqual(rowsOf("encoder/feed_forward", config).map((row) => row[2]), ["hidden", "output"]);
  assert.deepEqual(rowsOf("encoder/feed_forward/norm", config).map((row) => row[2]), ["output", "residual", "norm"]);
  assert.deepEqual(rowsOf("encoder/feed_forward/norm", { ...config, norm_order: "pre" }).map((row) => row[2]), ["norm", "output", "residual"]);
  assert.deepEqual(["encoder/embedding", "decoder/self_attention", "decoder/ssru", "decoder/softmax"].map(kindOf), ["encoder", "decoder", "cross", "cross"]);
});

test("a formula has superscripts and subscripts", () => {
  assert.deepEqual(piecesOf("x W^Q / √d_k"), [["", "x W"], ["^", "Q"], ["", " / √d"], ["_", "k"]]);
  assert.deepEqual(piecesOf("d_{model}·2"), [["", "d"], ["_", "model"], ["", "·2"]]);
});

test("the sinusoids are in the model's order", () => {
  assert.deepEqual(sinusoids({ position_layout: "interleaved", position_offset: 0 }), ["PE(pos, 2i) = sin(pos / 10000^{2i/d})", "PE(pos, 2i+1) = cos(pos / 10000^{2i/d})"]);
  assert.deepEqual(sinusoids({ position_layout: "marian", position_offset: 0 })[1], "PE(pos, d/2+i) = cos(pos / 10000^{2i/(d−2)})");
  assert.ok(sinusoids({ position_layout: "halves", position_offset: 2 })[0].includes("(pos + 2) / 10000^{2i/d}"));
});

test("a head is described by the positions of its weights", () => {
  const shifted = Float32Array.from([1, 0, 0, 1, 0, 0, 0, 1, 0]);
  assert.equal(roleOf("encoder", shifted, 3, 3, ["a", "b", "</s>"]).name, "previous");
  assert.equal(roleOf("decoder", Float32Array.from([1, 0, 0, 0, 1, 0, 0, 0, 1]), 3, 3, ["<s>", "a", "b"]).name, "previous");
  const resting = roleOf("cross", Float32Array.from([0, 0.1, 0.9, 0, 0.1, 0.9]), 2, 3, ["a", "b", "</s>"]);
  assert.deepEqual([resting.name, Math.round(100 * resting.share)], ["end", 90]);
  const even = new Float32Array(16).fill(0.25);
  assert.equal(roleOf("cross", even, 4, 4, ["a", "b", "c", "d"]).name, "spread");
  assert.equal(entropy(even, 4, 4), 2);
  assert.equal(roleOf("cross", Float32Array.from([0, 1, 0, 0, 0, 1, 1, 0, 0]), 3, 3, ["a", "b", "."]).name, "one");
});

test("lines are drawn for visible weights", () => {
  const matrix = { rows: 2, columns: 2, weights: [0.99, 0.01, 0.5, 0.5] };
  assert.deepEqual(linesOf(matrix), [[0, 0, 0.99], [1, 0, 0.5], [1, 1, 0.5]]);
  assert.deepEqual(linesOf(matrix, 0), [[0, 0, 0.99]]);
});

test("tokens that are not words are explained once each", () => {
  assert.deepEqual(["<2fr>", ">>pt<<", "__de__", "fra_Latn", "▁fr", "</s>"].map(targetOf), ["fr", "pt", "de", "fra", null, null]);
  assert.deepEqual(specialsOf(["<2fr>", "▁a", "b", "c", "</s>", "</s>"]).map(([name]) => name), ["<2fr>", "</s>", "·"]);
  assert.deepEqual(specialsOf(["▁a", "."]), []);
});

test("a word moves within its sentence", () => {
  assert.deepEqual(moved(["a", "b", "c"], 0, 1), { words: ["b", "a", "c"], at: 1 });
  assert.deepEqual(moved(["a", "b", "c"], 2, 5), { words: ["a", "b", "c"], at: 2 });
  assert.equal(dotProduct(Float32Array.from([1, 2, 3, 4]), 2, 0, 1), 11);
  assert.equal(firstToken(["▁because", "▁it", "▁was"]), 1);
  assert.equal(firstToken(["</s>"]), 0);
});

test("the tour has eight steps for every model", () => {
  const blocks = (autoregression) => stepsFor({ config: { autoregression } }).map(({ block }) => block);
  assert.equal(blocks("ssru").length, 8);
  assert.ok(blocks("ssru").includes("decoder/ssru") && blocks("self-attention").includes("decoder/self_attention"));
  for (const model of [null, { config: { autoregression: "ssru" } }]) for (const { name } of stepsFor(model)) assert.ok(`tour.${name}` in ENGLISH && `tour.${name}.title` in ENGLISH);
});
