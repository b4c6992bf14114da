// The difference between this device's clock and the server's.

/**
 * Returns how many milliseconds this device's clock is behind the server's. Returns 0 if the server
 * sent no time.
 */
export const skewOf = (serverTime) => (serverTime ? Date.parse(serverTime) - Date.now() : 0);
