"use strict";
// Draws each chart from the table below it.

const COLOURS = ["#1d4ed8", "#b45309", "#047857", "#9d174d", "#4b5563"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4]];
const HEIGHT = 300;

/** Returns the numbers of one column. An empty cell gives null. */
function columnOf(rows, at) {
  return rows.map((row) => {
    const text = row.cells[at].textContent;
    return text === "" ? null : Number(text);
  });
}

function draw(section) {
  const plot = section.querySelector(".plot");
  const table = section.querySelector("table");
  const dots = section.classList.contains("dots");
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const rows = [...table.tBodies[0].rows];
  const data = names.map((_, at) => columnOf(rows, at));
  const series = names.map((name, at) =>
    at === 0
      ? { label: name }
      : {
          label: name,
          stroke: COLOURS[(at - 1) % COLOURS.length],
          dash: DASHES[(at - 1) % DASHES.length],
          width: 2,
          spanGaps: true,
          ...(dots ? { paths: () => null, points: { show: true, size: 6, fill: COLOURS[0] } } : {}),
        },
  );
  const size = () => ({ width: plot.clientWidth, height: HEIGHT });
  const axes = [{ label: names[0], labelSize: 26 }, { size: 76 }];
  const scales = { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } };
  const chart = new window.uPlot({ ...size(), series, axes, scales }, data, plot);
  // A test compares these values with the table.
  plot.dataset.points = chart.data[0].length;
  plot.dataset.sums = chart.data.map((values) => values.reduce((sum, value) => sum + value, 0).toFixed(2)).join(" ");
  window.addEventListener("resize", () => chart.setSize(size()));
}

document.querySelectorAll("section.chart").forEach(draw);
