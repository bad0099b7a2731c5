/**
 * Finds where somebody may be speaking: frames of 20 ms louder than the recording's noise floor, with a hangover that
 * bridges the pauses between words. The floor is the level of the quietest tenth of the frames, so steady noise of any
 * loudness is not speech, and a recording without pauses gets its floor from the gaps inside words. Pure, O(samples).
 */

/** In seconds. */
export interface Span {
  readonly start: number
  readonly end: number
}

const FRAME_S = 0.02
/** Speech is this many times the floor; frames of steady noise stay within a fifth of it. */
const LOUDER = 3
/** Mean square of inaudible sound: -75 dB of full scale. */
const SILENCE = 3e-8
const ONSET_FRAMES = 3
const PAUSE_FRAMES = 30
/** Fewer frames than this are a click, not speech. */
const SPEECH_FRAMES_MIN = 5
const FLOOR_SHARE = 0.1
/** Hum and the DC offset of a microphone are below this frequency. */
const HIGH_PASS_HZ = 80
/** Maximum length of a span; a longer one is cut at the quietest frame of its second half. */
const SPAN_S_MAX = 15

/** The mean square of each frame, without frequencies too low for a voice. */
const powersOf = (samples: Float32Array, rate: number): Float32Array => {
  const size = Math.round(rate * FRAME_S)
  const powers = new Float32Array(Math.floor(samples.length / size))
  const keep = 1 - (2 * Math.PI * HIGH_PASS_HZ) / rate
  let before = samples[0] ?? 0,
    passed = 0
  for (let frame = 0; frame < powers.length; frame++) {
    let sum = 0
    for (let i = frame * size; i < (frame + 1) * size; i++) {
      const sample = samples[i]!
      passed = keep * (passed + sample - before)
      before = sample
      sum += passed * passed
    }
    powers[frame] = sum / size
  }
  return powers
}

/** Spans of speech as pairs: the first frame, and the frame after the last. */
const runsOf = (powers: Float32Array, threshold: number): ReadonlyArray<readonly [number, number]> => {
  const runs: Array<[number, number]> = []
  let loud = 0,
    quiet = 0,
    from = -1,
    heard = 0
  const close = (end: number) => {
    if (from >= 0 && heard >= SPEECH_FRAMES_MIN) runs.push([from, end])
    from = -1
  }
  for (let frame = 0; frame < powers.length; frame++) {
    if (powers[frame]! > threshold) {
      loud++
      quiet = 0
      if (from < 0 && loud >= ONSET_FRAMES) {
        from = frame - ONSET_FRAMES + 1
        heard = ONSET_FRAMES
      } else heard++
    } else {
      loud = 0
      if (from >= 0 && ++quiet >= PAUSE_FRAMES) close(frame - quiet + 1)
    }
  }
  close(powers.length - quiet)
  return runs
}

/** Cuts a span into spans of at most `SPAN_S_MAX`. */
function* pieces([from, to]: readonly [number, number], powers: Float32Array): Generator<readonly [number, number]> {
  const most = Math.floor(SPAN_S_MAX / FRAME_S)
  let start = from
  while (to - start > most) {
    let cut = start + most
    for (let frame = start + (most >> 1); frame < start + most; frame++) if (powers[frame]! < powers[cut]!) cut = frame
    yield [start, cut]
    start = cut
  }
  if (to > start) yield [start, to]
}

export const speechIn = (samples: Float32Array, rate: number): ReadonlyArray<Span> => {
  const powers = powersOf(samples, rate)
  if (powers.length === 0) return []
  const floor = powers.toSorted()[Math.floor(powers.length * FLOOR_SHARE)]!
  const threshold = Math.max(SILENCE, LOUDER * floor)
  return runsOf(powers, threshold).flatMap((run) =>
    Array.from(pieces(run, powers), ([from, to]) => ({ start: from * FRAME_S, end: to * FRAME_S }))
  )
}
