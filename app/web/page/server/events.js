/** Server-sent events from the body of an answer (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

/** Parses a stream of text chunks into events {event, data}. */
export class EventParser {
  #rest = "";

  /** The events that this chunk completes. */
  push(piece) {
    const blocks = (this.#rest + piece).split("\n\n");
    this.#rest = blocks.pop();
    const events = [];
    for (const block of blocks) {
      let event = "message";
      const data = [];
      for (const line of block.split("\n")) {
        if (line.startsWith("event:")) event = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      }
      if (data.length) events.push({ event, data: JSON.parse(data.join("\n")) });
    }
    return events;
  }
}
