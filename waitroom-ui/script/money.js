// Amounts of money in the reader's format.

import { locale } from "./core.js";

// By ISO 4217. Browsers also leave out the decimals of some other currencies, such as the forint,
// but amounts here count those decimals.
const NO_DECIMALS = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF";
const THREE_DECIMALS = "BHD IQD JOD KWD LYD OMR TND";
const FOUR_DECIMALS = "CLF UYW";

const moneyFormats = {}; // By currency: making a format is slow.

/** Formats `{amount, currency}`, with the amount in minor units, as the reader writes money. */
export function money(value) {
  const { amount, currency } = value ?? {};
  if (typeof amount !== "number") return "";
  const digits = NO_DECIMALS.includes(currency) ? 0 : THREE_DECIMALS.includes(currency) ? 3 : FOUR_DECIMALS.includes(currency) ? 4 : 2;
  const format = (moneyFormats[currency] ??= new Intl.NumberFormat(locale, { style: "currency", currency, minimumFractionDigits: digits }));
  return format.format(amount / 10 ** digits);
}
