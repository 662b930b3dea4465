/** Decides when to request a translation: after a pause in typing, one request at a time, only the latest. */

/** Milliseconds without a keystroke after which a text is sent. */
export const PAUSE = 50;

/** The longest such pause, in milliseconds, for slow servers. */
const LONGEST_PAUSE = 1000;

/** Kinds of failures that end by themselves: the page counts down and retries. */
const TEMPORARY = new Set(["rate-limited", "queue-full", "starting", "draining", "engine-down", "too-many-connections", "unreachable"]);

export const isTemporary = (error) => TEMPORARY.has(error.kind);

/**
 * send(wish, signal) → Promise of an answer. The handlers are called for the latest wish only:
 * started(wish), answered(answer, wish), failed(error, seconds or null), waiting(error, seconds left).
 */
export class Translator {
  #timer = null;
  #flight = null;
  #wish = null;
  #failures = 0;
  #tookLast = 0;

  constructor(send, handlers, { now = () => performance.now(), setTimer = setTimeout.bind(globalThis), clearTimer = clearTimeout.bind(globalThis) } = {}) {
    Object.assign(this, { send, handlers, now, setTimer, clearTimer });
  }

  /** Milliseconds to wait after a keystroke; slow servers get fewer requests. */
  get pause() { return Math.min(LONGEST_PAUSE, Math.max(PAUSE, this.#tookLast / 2)); }

  /** Request a translation after a pause, or at once, and cancel the previous request. */
  ask(wish, atOnce = false) {
    this.#drop();
    this.#failures = 0;
    this.#wish = wish;
    if (atOnce) this.#start();
    else this.#timer = this.setTimer(() => this.#start(), this.pause);
  }

  /** Cancel the request. */
  cancel() {
    this.#drop();
    this.#wish = null;
  }

  /** Repeat the latest request now, without waiting for the countdown. */
  retry() {
    this.#drop();
    if (this.#wish) this.#start();
  }

  #drop() {
    this.clearTimer(this.#timer);
    this.#flight?.abort();
    this.#flight = null;
  }

  async #start() {
    const flight = new AbortController();
    const wish = this.#wish;
    const began = this.now();
    this.#flight = flight;
    this.handlers.started(wish);
    try {
      const answer = await this.send(wish, flight.signal);
      if (this.#flight !== flight) return;
      this.#tookLast = this.now() - began;
      this.#flight = null;
      this.#failures = 0;
      this.handlers.answered(answer, wish);
    } catch (error) {
      if (this.#flight !== flight) return;
      this.#flight = null;
      if (isTemporary(error)) this.#countDown(error, Math.ceil(error.retryAfter ?? Math.min(30, 2 ** (this.#failures += 1))));
      else this.handlers.failed(error);
    }
  }

  #countDown(error, seconds) {
    if (seconds <= 0) {
      this.#start();
      return;
    }
    this.handlers.waiting(error, seconds);
    this.#timer = this.setTimer(() => this.#countDown(error, seconds - 1), 1000);
  }
}
