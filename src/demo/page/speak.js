"use strict"
// A live voice search of the page: the microphone's sound is streamed as it is recorded.
const RATE_MAX = 48_000

/** Requests the microphone. `stop` ends the speech; frames continue to arrive until `final`, or `onEnd`. */
const speakTo = async (address, params, onFrame, onEnd) => {
  const tracks = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: true } })
  const native = new AudioContext()
  const sound = native.sampleRate <= RATE_MAX ? native : new AudioContext({ sampleRate: RATE_MAX })
  if (sound !== native) void native.close()
  const close = () => {
    for (const track of tracks.getTracks()) track.stop()
    if (sound.state !== "closed") void sound.close()
  }
  try {
    await sound.audioWorklet.addModule("/demo/microphone.js")
  } catch (error) {
    close()
    throw error
  }
  const socket = new WebSocket(address)
  const waiting = []
  const send = (frame) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(frame)
    else if (socket.readyState === WebSocket.CONNECTING) waiting.push(frame)
  }
  const start = { ...params, encoding: "pcm_s16le", sample_rate: sound.sampleRate }
  send(JSON.stringify({ type: "start", params: start }))
  socket.addEventListener("open", () => waiting.splice(0).forEach(send))
  socket.addEventListener("message", ({ data }) => onFrame(JSON.parse(data)))
  socket.addEventListener("close", () => {
    close()
    onEnd()
  })
  const worklet = new AudioWorkletNode(sound, "microphone", { numberOfOutputs: 0 })
  worklet.port.addEventListener("message", ({ data }) => send(data))
  worklet.port.start()
  sound.createMediaStreamSource(tracks).connect(worklet)
  return {
    stop: () => {
      close()
      send(JSON.stringify({ type: "stop" }))
    }
  }
}
Object.assign(globalThis, { speakTo })
