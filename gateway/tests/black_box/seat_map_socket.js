// Runs before the page's own scripts. It keeps the page's live socket, so that the test can deliver
// a change of 500 seats on it at a known moment.
(() => {
  let socket;
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      socket = this;
    }
  };
  // 500 seats, spread over the plan, become held in even rounds and free in odd ones.
  window.feedForSpeed = (round) => {
    const version = BigInt(document.querySelector("#map").dataset.version);
    const seats = window.seatsForSpeed;
    const bytes = [];
    for (let k = 0; k < 500; k++) {
      const step = k === 0 ? 0 : Math.floor((k * seats) / 500) - Math.floor(((k - 1) * seats) / 500);
      let value = step * 4 + (round % 2 ? 0 : 1);
      for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
      bytes.push(value);
    }
    const frame = new Uint8Array(17 + bytes.length);
    const view = new DataView(frame.buffer);
    view.setUint8(0, 2);
    view.setBigUint64(1, version, true);
    view.setBigUint64(9, version + 1n, true);
    frame.set(bytes, 17);
    socket.dispatchEvent(new MessageEvent("message", { data: frame.buffer }));
  };
})();
