// The two tones of the chime. This file is loaded when the chime has to play.

/** Plays the chime once. */
export function playChime(context) {
  context.resume().catch(() => {});
  for (const [at, hertz] of [[0, 660], [0.22, 880]]) {
    const tone = context.createOscillator();
    const gain = context.createGain();
    tone.frequency.value = hertz;
    gain.gain.setValueAtTime(0.0001, context.currentTime + at);
    gain.gain.exponentialRampToValueAtTime(0.25, context.currentTime + at + 0.03);
    gain.gain.exponentialRampToValueAtTime(0.0001, context.currentTime + at + 0.5);
    tone.connect(gain).connect(context.destination);
    tone.start(context.currentTime + at);
    tone.stop(context.currentTime + at + 0.55);
  }
}
