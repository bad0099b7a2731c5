"use strict"
// Runs in the audio thread and emits 16-bit samples, a tenth of a second at a time.
registerProcessor(
  "microphone",
  class extends AudioWorkletProcessor {
    constructor() {
      super()
      this.piece = new Int16Array(Math.round(sampleRate / 10))
      this.length = 0
    }
    process([[samples]]) {
      for (const sample of samples ?? []) {
        this.piece[this.length++] = Math.max(-1, Math.min(1, sample)) * 32_767
        if (this.length < this.piece.length) continue
        this.port.postMessage(this.piece.slice().buffer)
        this.length = 0
      }
      return true
    }
  }
)
