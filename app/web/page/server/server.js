/** What the page asks of its server. */

import { EventParser } from "./events.js";

/** Where the API is: beside the page, also below a path of a proxy. */
export const BASE = new URL(".", document.baseURI);

const KEY = "attend.key";

/** A failure as the server described it, or as the network has it. */
export class ServerError extends Error {
  /** kind is the end of the problem's type, such as "rate-limited"; retryAfter is in seconds. */
  constructor({ status = 0, kind = "unreachable", detail = "", retryAfter = null, errors = [] }) {
    super(detail || kind);
    Object.assign(this, { status, kind, detail, retryAfter, errors });
  }
}

let key = sessionStorage.getItem(KEY);
let askForKey = null;

/** `ask(wasWrong)` resolves to a key once a person has given one. */
export function whenKeyNeeded(ask) { askForKey = ask; }

function headers(more) {
  return { ...(key ? { Authorization: `Bearer ${key}` } : {}), ...more };
}

let asking = null;

async function newKey(wasWrong) {
  asking ??= askForKey(wasWrong).then((given) => {
    key = given;
    sessionStorage.setItem(KEY, given);
    asking = null;
  });
  await asking;
}

async function failure(response) {
  const retryAfter = Number(response.headers.get("Retry-After")) || null;
  let problem = {};
  try {
    problem = await response.json();
  } catch { /* not from the server itself */ }
  return new ServerError({
    status: response.status,
    kind: String(problem.type ?? "").split(":").pop() || `status-${response.status}`,
    detail: problem.detail ?? problem.error ?? "",
    retryAfter,
    errors: problem.errors ?? [],
  });
}

async function request(path, options) {
  for (;;) {
    const sent = key;
    let response;
    try {
      response = await fetch(new URL(path, BASE), { ...options, headers: headers(options.headers) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServerError({});
    }
    if (response.ok) return response;
    const error = await failure(response);
    const wasWrong = error.kind === "key-unknown";
    if (!askForKey || !(wasWrong || error.kind === "key-needed")) throw error;
    if (sent === key) await newKey(wasWrong && sent !== null); // else another request got one meanwhile
    if (options.signal?.aborted) throw new DOMException("superseded", "AbortError");
  }
}

const asJson = (body, signal) => ({
  method: "POST", body: JSON.stringify(body), signal, headers: { "Content-Type": "application/json" },
});

/** GET a JSON document. */
export async function get(path) {
  return (await request(path, {})).json();
}

/** GET text. */
export async function getText(path) {
  return (await request(path, {})).text();
}

/** POST a JSON document. */
export async function post(path, body, signal) {
  return (await request(path, asJson(body, signal))).json();
}

/** POST a request whose answer comes as events; `tell(event, data)` for each, returns the last. */
export async function stream(path, body, tell, signal) {
  const response = await request(path, asJson({ ...body, stream: true }, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser();
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new ServerError({});
    });
    if (done) throw new ServerError({});
    for (const { event, data } of parser.push(value)) {
      if (event === "done") return data;
      if (event === "error") {
        throw new ServerError({ status: data.status, kind: data.type.split(":").pop(), detail: data.detail, errors: data.errors });
      }
      tell(event, data);
    }
  }
}

/** Send a form with a file; `progress(fraction)` of the upload. Resolves to the answer. */
export async function upload(path, form, progress) {
  for (;;) {
    const sent = key;
    const answer = await new Promise((resolve, reject) => {
      const call = new XMLHttpRequest();
      call.open("POST", new URL(path, BASE));
      for (const [name, value] of Object.entries(headers({}))) call.setRequestHeader(name, value);
      call.upload.onprogress = (event) => progress(event.loaded / event.total);
      call.onerror = () => reject(new ServerError({}));
      call.onload = () => resolve(call);
      call.send(form);
    });
    let body = {};
    try { body = JSON.parse(answer.responseText); } catch { /* a proxy's */ }
    if (answer.status === 200) return body;
    const needsKey = askForKey && (answer.status === 403 || (answer.status === 400 && /key/i.test(body.error ?? "") && !sent));
    if (!needsKey) {
      const retryAfter = Number(answer.getResponseHeader("Retry-After")) || null;
      throw new ServerError({ status: answer.status, kind: answer.status === 429 ? "queue-full" : `status-${answer.status}`, detail: body.error ?? "", retryAfter });
    }
    if (sent === key) await newKey(sent !== null);
  }
}
