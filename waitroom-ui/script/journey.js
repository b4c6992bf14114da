// Describes a stretch of a train's run in words, in the timetable's time zone if it is known.

import { shownZone, t, withZone } from "./core.js";

const locale = navigator.languages?.find((one) => one.toLowerCase().startsWith(document.documentElement.lang || "en")) ?? "en";

/**
 * Formats the times of a journey `{from: {at}, to: {at}, time_zone}` as "10 January 2027, 08:00 –
 * 12:30 (Riverton time)".
 */
export function journeyTimes({ from, to, time_zone: zone }) {
  const timeZone = shownZone(zone);
  const part = (at, options) => (at ? new Intl.DateTimeFormat(locale, { ...options, timeZone }).format(new Date(at)) : "–");
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }; // Timetables use 24 hours.
  return withZone(t("common.journey_times", { date: part(from.at, { dateStyle: "long" }), departs: part(from.at, time), arrives: part(to.at, time) }), timeZone);
}

/**
 * Formats `{train, from: {name, at}, to: {name, at}}` as "G1 Beijing South – Shanghai, 10 January
 * 2027, 08:00 – 12:30 (Beijing time)".
 */
export function journeyWords(journey) {
  const { train, from, to } = journey;
  return t("common.journey", { train, from: from.name, to: to.name, times: journeyTimes(journey) });
}
