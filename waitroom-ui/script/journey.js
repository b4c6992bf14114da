// A stretch of a train's run in words, by the clocks of its timetable where they are known.

import { t } from "./core.js";

const locale = navigator.languages?.find((one) => one.toLowerCase().startsWith(document.documentElement.lang || "en")) ?? "en";

/** When a journey `{from: {at}, to, time_zone}` is, as "10 January 2027, 08:00 – 12:30". */
export function journeyTimes({ from, to, time_zone: zone }) {
  const timeZone = zone ?? undefined; // The reader's own, where nobody knows the timetable's.
  const part = (at, options) => (at ? new Intl.DateTimeFormat(locale, { ...options, timeZone }).format(new Date(at)) : "–");
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }; // As timetables write it.
  return t("common.journey_times", { date: part(from.at, { dateStyle: "long" }), departs: part(from.at, time), arrives: part(to.at, time) });
}

/**
 * `{train, from: {name, at}, to}` as "G1 Beijing South – Shanghai, 10 January 2027, 08:00 – 12:30".
 */
export function journeyWords(journey) {
  const { train, from, to } = journey;
  return t("common.journey", { train, from: from.name, to: to.name, times: journeyTimes(journey) });
}
