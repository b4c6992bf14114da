// Loads a style that the page does not have from the beginning.

import { make } from "./core.js";

/** Loads `page/NAME.css`. `loaded()` is called once it is loaded, or cannot be loaded. */
export function loadStyle(name, loaded) {
  const { href } = new URL(`../${name}.css${new URL(import.meta.url).search}`, import.meta.url);
  document.head.append(make("link", { rel: "stylesheet", href, onload: loaded, onerror: loaded }));
}
