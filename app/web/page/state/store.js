/** One state, and who is told when it changes. */

export class Store {
  #listeners = new Set();

  constructor(state) { this.state = state; }

  /** Call `listener(state, changed)` after every change; `changed` is a set of names. */
  watch(listener) { this.#listeners.add(listener); }

  /** Change what differs, and tell. Returns the names that did. */
  set(changes) {
    const changed = new Set(Object.keys(changes).filter((name) => changes[name] !== this.state[name]));
    if (!changed.size) return changed;
    this.state = { ...this.state, ...changes };
    for (const listener of this.#listeners) listener(this.state, changed);
    return changed;
  }
}
