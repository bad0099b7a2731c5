// A complete CMS module: it polls its configuration, applies it, pushes what changed in its shop, and reports. Plain
// Node (20 or later), no packages. For your own CMS you write `catalogue.mjs`; everything else can stay.
//
//   DOWSER_URL=https://search.example DOWSER_INSTALLATION_KEY=cmsk_… node module.mjs ./catalogue.mjs ./state.json
import { createHmac } from "node:crypto"
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const MODULE_VERSION = "1.0.0"
const POLL_MS = Number(process.env.DOWSER_POLL_MS ?? 60_000)
const PUSH_EVENTS_MAX = 500
const PUSH_BYTES_MAX = 4_000_000
const ATTEMPTS_MAX = 6

const url = process.env.DOWSER_URL
const key = process.env.DOWSER_INSTALLATION_KEY
const [, , cataloguePath = "./catalogue.mjs", statePath = "./state.json"] = process.argv
if (!url || !key) {
  console.error("DOWSER_URL and DOWSER_INSTALLATION_KEY say where the search is and which installation this is.")
  process.exit(2)
}

/**
 * The shop: `describe()` → `{cms_version, capabilities, stores}`; `changes(store, source, since)` → an async iterable
 * of `{cursor, event}`, each event in the connector's format, in the order in which they happened.
 */
const catalogue = await import(pathToFileURL(cataloguePath).href)

// What survives a restart: the applied revision, and up to where each source has been pushed.
const state = (() => {
  try {
    return JSON.parse(readFileSync(statePath, "utf8"))
  } catch (error) {
    if (error.code !== "ENOENT") throw error
    return { applied_revision: 0, cursors: {} }
  }
})()
const save = () => {
  // Replaced atomically: an interrupted process leaves the file unchanged.
  writeFileSync(`${statePath}.new`, JSON.stringify(state))
  renameSync(`${statePath}.new`, statePath)
}

const pause = (ms) => new Promise((settle) => setTimeout(settle, ms))
/** Returns the answer; temporary failures are retried, after the time in the answer or after doubling delays. */
const send = async (method, path, { body, headers = {} } = {}) => {
  for (let attempt = 1; ; attempt++) {
    let problem
    let wait_ms = 500 * 2 ** attempt * (0.5 + Math.random())
    try {
      const response = await fetch(new URL(path, url), {
        method,
        headers: { "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(30_000)
      })
      const text = await response.text()
      if (response.status === 304) return { status: 304, headers: response.headers }
      if (response.ok) return { status: response.status, headers: response.headers, body: JSON.parse(text) }
      problem = new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`)
      problem.status = response.status
      if (![408, 429, 500, 502, 503].includes(response.status)) throw Object.assign(problem, { isFinal: true })
      const after_s = Number(response.headers.get("retry-after"))
      if (after_s > 0) wait_ms = 1_000 * after_s
    } catch (error) {
      if (error.isFinal) throw error
      problem ??= error
    }
    if (attempt === ATTEMPTS_MAX) throw problem
    await pause(wait_ms)
  }
}
const own = { authorization: `Bearer ${key}` }

let config
/** The configuration of this installation; undefined: unchanged. */
const poll = async () => {
  const known = config === undefined ? {} : { "if-none-match": `"${config.desired_revision}"` }
  const answer = await send("GET", "/v1/cms/runtime/config", { headers: { ...own, ...known } })
  if (answer.status !== 304) config = answer.body
}

/** Signed with the connector's secret, like a webhook. */
const pushSigned = ({ secret, webhook_path }, body) => {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const signature = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")
  return send("POST", webhook_path, {
    body,
    headers: { "x-signature-timestamp": timestamp, "x-signature": signature }
  })
}

const health = { pending: 0, failed: 0, processing: 0, batch_size: PUSH_EVENTS_MAX, workers: 1 }
/** Pushes one batch; entries that could not be read are only counted, because sending them again would not help. */
const pushBatch = async (connector, batch, events) => {
  const answer = await pushSigned(connector, JSON.stringify({ events }))
  health.failed += answer.body.rejected.length
  for (const { index, reason } of answer.body.rejected)
    console.error(`${connector.store}/${connector.local_id}: ${events[index]?.external_id ?? index}: ${reason}`)
  state.cursors[batch.name] = batch.cursor
  save()
}
/** Pushes everything of a source that changed since the last push. */
const pushSource = async (connector) => {
  const name = `${connector.store}/${connector.local_id}`
  let events = []
  let bytes = 0
  let cursor = state.cursors[name]
  const flush = async () => {
    if (events.length > 0) await pushBatch(connector, { name, cursor }, events)
    events = []
    bytes = 0
  }
  for await (const change of catalogue.changes(connector.store, connector.local_id, state.cursors[name])) {
    const size = Buffer.byteLength(JSON.stringify(change.event))
    if (events.length === PUSH_EVENTS_MAX || bytes + size > PUSH_BYTES_MAX) await flush()
    events.push(change.event)
    bytes += size
    cursor = change.cursor
  }
  await flush()
}

const report = async (more) => {
  const sync_health = { ...health, reported_at: Date.now() }
  await send("POST", "/v1/cms/runtime/report", {
    headers: own,
    body: JSON.stringify({ sync_health, applied_revision: state.applied_revision, ...more })
  })
}
/** A revision is applied once its stores exist; a CMS would switch its own search over here. */
const apply = async () => {
  if (state.applied_revision === config.desired_revision) return
  const { cms_version, capabilities = [], stores } = await catalogue.describe()
  const present = new Set(stores.map(({ local_id }) => local_id))
  const missing = config.config.stores.filter(({ local_id }) => !present.has(local_id))
  if (missing.length > 0) throw new Error(`There is no store ${missing.map(({ local_id }) => local_id).join(", ")}.`)
  state.applied_revision = config.desired_revision
  save()
  await report({ discovery: { module_version: MODULE_VERSION, cms_version, capabilities, stores }, last_error: null })
  console.log(`Revision ${state.applied_revision} is applied.`)
}

let isStopping = false
for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => {
    isStopping = true
    wake()
  })
let wake = () => {}

while (!isStopping) {
  try {
    await poll()
    await apply()
    for (const connector of config.connectors) await pushSource(connector)
    await report({ last_error: null })
  } catch (error) {
    console.error(error.message)
    // The key has been revoked, so a report is impossible.
    if (error.status === 401) process.exit(1)
    await report({ last_error: String(error.message).slice(0, 1_000) }).catch(() => {})
  }
  if (!isStopping)
    await Promise.race([
      pause(POLL_MS),
      new Promise((settle) => {
        wake = settle
      })
    ])
}
