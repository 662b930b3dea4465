/** The page's state, which calls listeners when it changes. */

export class Store {
  #listeners = new Set();

  constructor(state) { this.state = state; }

  /** Call `listener(state, changed)` after every change; `changed` is a set of names. */
  watch(listener) { this.#listeners.add(listener); }

  /** Apply changes and call the listeners. Returns the names of the changed values. */
  set(changes) {
    const changed = new Set(Object.keys(changes).filter((name) => changes[name] !== this.state[name]));
    if (!changed.size) return changed;
    this.state = { ...this.state, ...changes };
    for (const listener of this.#listeners) listener(this.state, changed);
    return changed;
  }
}
