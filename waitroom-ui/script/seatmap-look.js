// The colours in which the map is painted, from the page's colours and the plan's categories.

import { mix, readable } from "./seatmap-colours.js";

const FAR_PX = 4; // If seats are closer than this, sections are tinted with their category's colour.

/** Reads the page's colours. Called again when the theme changes. */
export function readLook(g) {
  const style = getComputedStyle(document.documentElement);
  const probe = document.createElement("canvas").getContext("2d");
  const of = (name) => {
    probe.fillStyle = "#808080";
    probe.fillStyle = style.getPropertyValue(name).trim();
    return probe.fillStyle; // Every colour, even a system colour, as #rrggbb.
  };
  const [paper, inset, ink] = [of("--card"), of("--inset"), of("--ink")];
  const seat = (colour) => readable(colour, [paper, inset]);
  const categories = g.categories.map(({ color }) => readable(color, [paper, inset, mix(inset, color, 0.12)]));
  return {
    paper,
    ink,
    categories,
    line: of("--soft"),
    soft: of("--soft"),
    accent: of("--accent"),
    venue: mix(paper, ink, 0.045),
    stage: mix(paper, ink, 0.16),
    wall: mix(paper, ink, 0.3),
    door: mix(paper, ink, 0.62),
    glass: mix(paper, seat("#56b4e9"), 0.75),
    held: seat(of("--seat-held")),
    sold: seat(of("--seat-sold")),
    blocked: seat(of("--seat-blocked")),
    grounds: [inset, ...categories.map((colour) => mix(inset, colour, 0.12))],
    fade: (colour, under) => mix(colour, under, 0.78),
    /**
     * Returns whether sections are tinted. If so, the ground of category k is `grounds[k + 1]`, and
     * otherwise `grounds[0]`. `scale` is the factor from the plan to CSS pixels.
     */
    isFar: (scale) => g.spacing * scale < FAR_PX,
  };
}
