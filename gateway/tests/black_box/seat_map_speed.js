// Measures the seat map of the page that it runs in. It measures the frames while the map is zoomed
// and moved, the time that a change of 500 seats takes, and the work of the two frames after it. A
// frame's work is the time from its start until the browser has painted it and takes the next task.
// Returns a JSON text.
(async () => {
  const map = document.querySelector("#map");
  const box = map.getBoundingClientRect();
  const [cx, cy] = [box.left + box.width / 2, box.top + box.height / 2];
  const [gaps, works] = [[], []];
  const channel = new MessageChannel();
  let began = 0;
  let last = 0;
  channel.port1.onmessage = () => works.push(performance.now() - began);
  const frame = (act) =>
    new Promise((done) =>
      requestAnimationFrame((now) => {
        began = performance.now();
        if (last) gaps.push(now - last);
        last = now;
        act();
        channel.port2.postMessage(0);
        done();
      }),
    );
  const zoom = async (frames, by) => {
    for (let k = 0; k < frames; k++) await frame(() => map.dispatchEvent(new WheelEvent("wheel", { deltaY: by, ctrlKey: true, clientX: cx, clientY: cy, cancelable: true })));
  };
  const pan = async (frames, dx, dy) => {
    const fire = (type, k) => map.dispatchEvent(new PointerEvent(type, { pointerId: 1, pointerType: "mouse", clientX: cx + k * dx, clientY: cy + k * dy }));
    map.setPointerCapture = () => {}; // A pointer that a script made cannot be captured.
    fire("pointerdown", 0);
    for (let k = 1; k <= frames; k++) await frame(() => fire("pointermove", k));
    fire("pointerup", frames);
  };
  await zoom(60, -4);
  await pan(60, -6, -4);
  await zoom(50, -4);
  await pan(60, 7, 3);
  await pan(60, 3, -7);
  await zoom(110, 4);
  const [moves, moved] = [[...works], [...gaps]];
  const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.floor(q * (list.length - 1))];
  const [changes, painted] = [[], []];
  for (let round = 0; round < 61; round++) {
    await new Promise((done) => setTimeout(done, 40));
    works.length = 0;
    const nextFrame = frame(() => {});
    const start = performance.now();
    window.feedForSpeed(round);
    changes.push(performance.now() - start);
    // The page takes over the states in the next frame, and paints them in the frame after it.
    await nextFrame;
    await frame(() => {});
    await new Promise((done) => setTimeout(done));
    painted.push(works.reduce((sum, one) => sum + one, 0));
  }
  return JSON.stringify({
    frames: moved.length,
    frame_interval_p50_ms: quantile(moved, 0.5),
    frame_interval_p95_ms: quantile(moved, 0.95),
    frame_work_p50_ms: quantile(moves, 0.5),
    frame_work_p95_ms: quantile(moves, 0.95),
    change_of_500_seats_p50_ms: quantile(changes, 0.5),
    change_of_500_seats_max_ms: Math.max(...changes),
    two_frames_after_change_p50_ms: quantile(painted, 0.5),
    two_frames_after_change_p95_ms: quantile(painted, 0.95),
  });
})()
