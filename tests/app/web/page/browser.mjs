/** The parts of a browser that modules use while they are loaded. */
globalThis.localStorage ??= { getItem: () => null, setItem: () => {} };
globalThis.sessionStorage ??= { getItem: () => null, setItem: () => {} };
globalThis.document ??= { baseURI: "http://attend/", querySelectorAll: () => [], documentElement: {} };
if (!globalThis.navigator?.languages) Object.defineProperty(globalThis, "navigator", { value: { languages: ["en"] } });

export const page = (name) => import(new URL(`../../../../app/web/page/${name}.js`, import.meta.url));
