// Puts a QR code from the server into the page. Only shapes and their geometry are copied, so no
// answer can add scripts or styles.

import { call } from "./core.js";

const SHAPES = new Set(["svg", "g", "path", "rect"]);
const GEOMETRY = ["viewBox", "d", "x", "y", "width", "height", "fill", "transform", "shape-rendering", "fill-rule"];
const SVG = "http://www.w3.org/2000/svg";

export function drawingOf(text) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return root.localName === "svg" ? copy(root) : null;
}

function copy(from) {
  const to = document.createElementNS(SVG, from.localName);
  for (const name of GEOMETRY) if (from.hasAttribute(name)) to.setAttribute(name, from.getAttribute(name));
  if (from.localName === "svg") {
    const [w, h] = [parseFloat(from.getAttribute("width")), parseFloat(from.getAttribute("height"))];
    if (!to.hasAttribute("viewBox") && w && h) to.setAttribute("viewBox", `0 0 ${w} ${h}`);
    to.removeAttribute("width");
    to.removeAttribute("height");
    to.setAttribute("aria-hidden", "true");
  }
  for (const child of from.children) if (SHAPES.has(child.localName)) to.append(copy(child));
  return to;
}

/** Fetches the QR code of a ticket as text. Returns null if that fails. */
export async function ticketSvg(ticket, bearer) {
  const answer = await call("GET", `/v1/tickets/${encodeURIComponent(ticket)}.svg`, { accept: "image/svg+xml", text: true, bearer });
  return answer.ok ? answer.body : null;
}
