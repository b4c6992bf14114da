// Describes a stretch of a train's run in words, by the clocks of its stations if their time zones
// are known.

import { shownZone, t, withZone, zoneName } from "./core.js";

const locale = navigator.languages?.find((one) => one.toLowerCase().startsWith(document.documentElement.lang || "en")) ?? "en";

/**
 * Formats the times of a journey `{from: {at, time_zone}, to: {at, time_zone}, time_zone}` as
 * "10 January 2027, 08:00 – 12:30 (Riverton time)". If its ends are in two time zones, each time
 * says its own: "10 January 2027, 08:00 London time – 10:10 Paris time".
 */
export function journeyTimes({ from, to, time_zone: zone }) {
  const part = (at, timeZone, options) => (at ? new Intl.DateTimeFormat(locale, { ...options, timeZone }).format(new Date(at)) : "–");
  const clock = (at, timeZone) => part(at, timeZone, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }); // Timetables use 24 hours.
  const [leaves, arrives] = [from, to].map((end) => shownZone(end.time_zone ?? zone));
  const apart = leaves !== arrives;
  const end = (at, timeZone) => (apart ? t("common.clock", { time: clock(at, timeZone), zone: zoneName(timeZone) }) : clock(at, timeZone));
  const times = t("common.journey_times", { date: part(from.at, leaves, { dateStyle: "long" }), departs: end(from.at, leaves), arrives: end(to.at, arrives) });
  return apart ? times : withZone(times, leaves);
}

/** Returns the day on which a journey begins by the clocks of its first station, as 2027-01-10. */
export function journeyDay({ from, time_zone: zone, date }) {
  const timeZone = from.time_zone ?? zone;
  // Swedish writes a day as a date field has it.
  return from.at && timeZone ? new Intl.DateTimeFormat("sv-SE", { timeZone: shownZone(timeZone) }).format(new Date(from.at)) : date;
}

/**
 * Formats `{train, from: {name, at}, to: {name, at}}` as "G1 Beijing South – Shanghai, 10 January
 * 2027, 08:00 – 12:30 (Beijing time)".
 */
export function journeyWords(journey) {
  const { train, from, to } = journey;
  return t("common.journey", { train, from: from.name, to: to.name, times: journeyTimes(journey) });
}
