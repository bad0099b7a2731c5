/**
 * Detects onsets and pauses of speech while audio arrives: frames of 20 ms louder than the noise floor, which is the
 * quietest frame of the last seconds, with a hangover that bridges the pauses between words. During speech the floor
 * only falls, so a long word does not become its own floor. After fifteen seconds a run is cut and the floor becomes
 * the current level, so a fan that is switched on counts as speech only once. Pure, O(samples), some hundred bytes.
 */
import { RATE } from "../../audio-decoder/audio-decoder.ts"

/** Positions in samples from the beginning. */
export type VoiceEvent =
  | { readonly kind: "onset"; readonly at: number }
  /** `isClick`: too short to be speech. `isCut`: the speech continues. */
  | { readonly kind: "end"; readonly at: number; readonly isClick: boolean; readonly isCut: boolean }

const FRAME = RATE / 50
/** Speech is this many times the floor; frames of steady noise stay within a fifth of it. */
const LOUDER = 3
/** Mean square of inaudible sound: -75 dB of full scale. */
const SILENCE = 3e-8
/** No microphone is this quiet: it has not started, and what follows must not be measured against it. */
const NOTHING = 1e-10
const NOTHING_COUNTS_AS = 3e-6
const ONSET_FRAMES = 3
/** 600 ms. */
const PAUSE_FRAMES = 30
/** 240 ms. */
const SPEECH_FRAMES_MIN = 12
/** 15 s. */
const RUN_FRAMES_MAX = 750
/** Parts of half a second, of each of which the quietest frame is kept, the oldest first. */
const FLOOR_PARTS = 5,
  PART_FRAMES = 25
/** Hum and the DC offset of a microphone are below this frequency. */
const KEEP = 1 - (2 * Math.PI * 80) / RATE

/** The quietest frame of the last two to two and a half seconds. */
class Floor {
  readonly #parts: Array<number> = []
  #part = Infinity
  #frames = 0

  add(power: number): void {
    this.#part = Math.min(this.#part, power < NOTHING ? NOTHING_COUNTS_AS : power)
    if (++this.#frames < PART_FRAMES) return
    this.#parts.push(this.#part)
    if (this.#parts.length > FLOOR_PARTS - 1) this.#parts.shift()
    this.#part = Infinity
    this.#frames = 0
  }
  get value(): number {
    return Math.min(this.#part, ...this.#parts)
  }
}

export class VoiceActivity {
  readonly #floor = new Floor()
  #before = 0
  #passed = 0
  /** State of the incomplete frame. */
  #sum = 0
  #filled = 0
  #frame = 0
  #loud = 0
  #quiet = 0
  #heard = 0
  /** The frame in which the run began; undefined while nobody speaks. */
  #from: number | undefined
  /** The quietest level while somebody speaks. */
  #least = Infinity

  get isSpeaking(): boolean {
    return this.#from !== undefined
  }
  push(samples: Float32Array): ReadonlyArray<VoiceEvent> {
    const events: Array<VoiceEvent> = []
    for (const sample of samples) {
      this.#passed = KEEP * (this.#passed + sample - this.#before)
      this.#before = sample
      this.#sum += this.#passed * this.#passed
      if (++this.#filled < FRAME) continue
      const event = this.#next(this.#sum / FRAME)
      if (event !== undefined) events.push(event)
      this.#sum = 0
      this.#filled = 0
    }
    return events
  }
  /** Ends the stream. */
  end(): VoiceEvent | undefined {
    return this.#from === undefined ? undefined : this.#ended(this.#frame - this.#quiet, false)
  }

  #next(power: number): VoiceEvent | undefined {
    this.#floor.add(power)
    this.#frame++
    this.#least = Math.min(this.#least, this.#floor.value)
    const isLoud = power > Math.max(SILENCE, LOUDER * (this.#from === undefined ? this.#floor.value : this.#least))
    this.#loud = isLoud ? this.#loud + 1 : 0
    if (this.#from === undefined) {
      if (this.#loud < ONSET_FRAMES) return undefined
      this.#from = this.#frame - ONSET_FRAMES
      this.#least = this.#floor.value
      this.#heard = ONSET_FRAMES
      this.#quiet = 0
      return { kind: "onset", at: this.#from * FRAME }
    }
    if (isLoud) this.#heard++
    this.#quiet = isLoud ? 0 : this.#quiet + 1
    if (this.#quiet >= PAUSE_FRAMES) return this.#ended(this.#frame - this.#quiet, false)
    return this.#frame - this.#from >= RUN_FRAMES_MAX ? this.#ended(this.#frame, true) : undefined
  }
  #ended(frame: number, isCut: boolean): VoiceEvent {
    const isClick = this.#heard < SPEECH_FRAMES_MIN
    this.#from = undefined
    this.#loud = 0
    return { kind: "end", at: frame * FRAME, isClick, isCut }
  }
}
