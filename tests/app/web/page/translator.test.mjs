import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./browser.mjs";

const { PAUSE, Translator } = await page("panes/translator");

/** A translator with a manual clock, and the events of its handlers. */
function bench() {
  const events = [];
  const timers = [];
  const flights = [];
  let now = 0;
  const handlers = Object.fromEntries(["started", "answered", "failed", "waiting"].map((name) => [name, (...rest) => events.push([name, ...rest])]));
  const send = (wish, signal) => new Promise((answer, fail) => {
    flights.push({ wish, answer, fail });
    signal.addEventListener("abort", () => fail(new DOMException("superseded", "AbortError")));
  });
  const translator = new Translator(send, handlers, {
    now: () => now,
    setTimer: (run, after) => timers.push({ run, at: now + after }),
    clearTimer: (id) => { if (id) timers[id - 1].run = null; },
  });
  const pass = async (ms) => {
    now += ms;
    for (const timer of timers) {
      if (timer.run && timer.at <= now) {
        const { run } = timer;
        timer.run = null;
        run();
      }
    }
    await new Promise((done) => setImmediate(done));
  };
  return { translator, events, flights, pass, names: () => events.map(([name]) => name) };
}

test("the latest text is sent when typing pauses", async () => {
  const { translator, flights, pass } = bench();
  for (const text of ["a", "ab", "abc"]) {
    translator.ask(text);
    await pass(PAUSE - 1);
  }
  assert.equal(flights.length, 0);
  await pass(1);
  assert.deepEqual(flights.map(({ wish }) => wish), ["abc"]);
});

test("an outdated answer is dropped", async () => {
  const { translator, flights, events, pass } = bench();
  translator.ask("a", true);
  translator.ask("b", true);
  flights[0].answer("A");
  flights[1].answer("B");
  await pass(0);
  assert.deepEqual(events.filter(([name]) => name !== "started"), [["answered", "B", "b"]]);
});

test("a slow server gets fewer requests, but one within a second", async () => {
  const { translator, flights, pass } = bench();
  translator.ask("a", true);
  await pass(800);
  flights[0].answer("A");
  await pass(0);
  assert.equal(translator.pause, 400);
  translator.ask("b", true);
  await pass(9000);
  flights[1].answer("B");
  await pass(0);
  assert.equal(translator.pause, 1000);
});

test("an overload is counted down and then retried", async () => {
  const { translator, flights, events, pass } = bench();
  translator.ask("a", true);
  flights[0].fail({ kind: "queue-full", retryAfter: 2 });
  await pass(0);
  await pass(1000);
  assert.deepEqual(events.filter(([name]) => name === "waiting").map(([, , seconds]) => seconds), [2, 1]);
  await pass(1000);
  assert.equal(flights.length, 2);
});

test("without Retry-After the waits grow, and a person may retry earlier", async () => {
  const { translator, flights, events, pass } = bench();
  translator.ask("a", true);
  flights[0].fail({ kind: "unreachable" });
  await pass(0);
  translator.retry();
  flights[1].fail({ kind: "unreachable" });
  await pass(0);
  assert.deepEqual(events.filter(([name]) => name === "waiting").map(([, , seconds]) => seconds), [2, 4]);
});

test("permanent failures are not retried", async () => {
  const { translator, flights, names, pass } = bench();
  translator.ask("a", true);
  flights[0].fail({ kind: "unknown-languages" });
  await pass(100_000);
  assert.deepEqual(names(), ["started", "failed"]);
  assert.equal(flights.length, 1);
});

test("typing ends a countdown", async () => {
  const { translator, flights, pass } = bench();
  translator.ask("a", true);
  flights[0].fail({ kind: "queue-full", retryAfter: 1 });
  await pass(0);
  translator.ask("b");
  await pass(PAUSE);
  await pass(1000);
  assert.deepEqual(flights.map(({ wish }) => wish), ["a", "b"]);
});
