/** Undo and redo over whole states; typing in one go is one step. */

export class History {
  #past = [];
  #future = [];
  #latest;
  #group = null;

  /** `same` says whether two states are worth a step between them. */
  constructor(state, { limit = 500, same = (a, b) => JSON.stringify(a) === JSON.stringify(b) } = {}) {
    this.#latest = state;
    this.limit = limit;
    this.same = same;
  }

  get canUndo() { return this.#past.length > 0; }
  get canRedo() { return this.#future.length > 0; }

  /** Note a state. Successive ones of the same `group` are one step; without a group it is its own. */
  note(state, group = null) {
    if (this.same(state, this.#latest)) return;
    if (group === null || group !== this.#group) {
      this.#past.push(this.#latest);
      if (this.#past.length > this.limit) this.#past.shift();
    }
    this.#group = group;
    this.#future = [];
    this.#latest = state;
  }

  /** Take changes for what there was all along: nothing that a person did. */
  amend(changes) { this.#latest = { ...this.#latest, ...changes }; }

  /** The next state begins a step of its own, whatever its group. */
  settle() { this.#group = null; }

  /** The state before, or undefined. */
  undo() { return this.#move(this.#past, this.#future); }

  /** The state that was undone last, or undefined. */
  redo() { return this.#move(this.#future, this.#past); }

  #move(from, to) {
    if (!from.length) return undefined;
    to.push(this.#latest);
    this.#latest = from.pop();
    this.#group = null;
    return this.#latest;
  }
}
