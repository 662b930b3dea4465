/** Undo and redo over whole states; typing in one go is one step. */

export class History {
  #past = [];
  #future = [];
  #latest;
  #group = null;

  /** `same` decides whether two states are equal, so that no step is recorded. */
  constructor(state, { limit = 500, same = (a, b) => JSON.stringify(a) === JSON.stringify(b) } = {}) {
    this.#latest = state;
    this.limit = limit;
    this.same = same;
  }

  get canUndo() { return this.#past.length > 0; }
  get canRedo() { return this.#future.length > 0; }

  /** Record a state. Successive states of the same `group` are one step; a state without a group is its own. */
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

  /** Change the present state without a step, for changes that no person made. */
  amend(changes) { this.#latest = { ...this.#latest, ...changes }; }

  /** Make the next state a new step, even if it has the same group. */
  settle() { this.#group = null; }

  /** The previous state, or undefined. */
  undo() { return this.#move(this.#past, this.#future); }

  /** The state undone last, or undefined. */
  redo() { return this.#move(this.#future, this.#past); }

  #move(from, to) {
    if (!from.length) return undefined;
    to.push(this.#latest);
    this.#latest = from.pop();
    this.#group = null;
    return this.#latest;
  }
}
