/** The page's requests to its server. */

import { EventParser } from "./events.js";

/** The API's address: beside the page, also below a path of a proxy. */
export const BASE = new URL(".", document.baseURI);

/** The same without the slash at the end, for examples. */
export const ADDRESS = BASE.href.replace(/\/$/, "");

const KEY = "attend.key";

/** A failed request: the server's problem document, or a network error. */
export class ServerError extends Error {
  /** kind is the end of the problem's type, such as "rate-limited"; retryAfter is in seconds; source a language that is not served. */
  constructor({ status = 0, kind = "unreachable", detail = "", retryAfter = null, errors = [], source = null }) {
    super(detail || kind);
    Object.assign(this, { status, kind, detail, retryAfter, errors, source });
  }
}

let key = sessionStorage.getItem(KEY);
let wish = null; // (wasWrong) → Promise of a key, or of null
let asking = null;
let declined = false;
const listeners = new Set();

/** `ask(wasWrong)` resolves to the key that a person enters, or to null if they decline. */
export function onKeyNeeded(ask) { wish = ask; }

/** Call back whenever a person enters a key. */
export function whenKeyGiven(listener) { listeners.add(listener); }

/** Whether a key would resolve an error. */
export const isAboutKeys = ({ kind }) => kind === "key-needed" || kind === "key-unknown";

function headers(more) {
  return { ...(key ? { Authorization: `Bearer ${key}` } : {}), ...more };
}

/** Ask for a key, once for all requests that need it; false if none was entered. */
export async function askForKey(wasWrong = false) {
  asking ??= wish(wasWrong).then((given) => {
    asking = null;
    declined = given === null;
    if (declined) return false;
    key = given;
    sessionStorage.setItem(KEY, given);
    for (const listener of listeners) listener();
    return true;
  });
  return asking;
}

/** Whether a request that was refused for its key `sent` should be sent again. A person who declined is not asked again. */
const hasAnother = async (sent) => sent !== key || (wish && !declined && askForKey(sent !== null));

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
    source: problem.source,
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
    if (!isAboutKeys(error) || !await hasAnother(sent)) throw error;
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
        throw new ServerError({ status: data.status, kind: data.type.split(":").pop(), detail: data.detail, errors: data.errors, source: data.source });
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
    const needsKey = answer.status === 403 || (answer.status === 400 && /key/i.test(body.error ?? "") && !sent);
    if (!needsKey || !await hasAnother(sent)) {
      const retryAfter = Number(answer.getResponseHeader("Retry-After")) || null;
      throw new ServerError({ status: answer.status, kind: answer.status === 429 ? "queue-full" : `status-${answer.status}`, detail: body.error ?? "", retryAfter });
    }
  }
}
