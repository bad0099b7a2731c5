/**
 * Broker TLS and SASL from the environment. Secrets are not flags, because every process of the machine can read flags.
 */
import type { SASLOptions } from "kafkajs"
import type { ConnectionOptions } from "node:tls"

export interface KafkaSecurity {
  readonly ssl?: ConnectionOptions | true
  readonly sasl?: SASLOptions
}

const MECHANISMS = ["plain", "scram-sha-256", "scram-sha-512"] as const
const isMechanism = (text: string): text is (typeof MECHANISMS)[number] =>
  (MECHANISMS as ReadonlyArray<string>).includes(text)

/**
 * `KAFKA_SSL=true`; `KAFKA_SSL_CA_FILE`, and for a certificate of our own `KAFKA_SSL_CERT_FILE` with
 * `KAFKA_SSL_KEY_FILE` (PEM; each implies TLS); `KAFKA_SASL_MECHANISM` with `KAFKA_SASL_USERNAME` and
 * `KAFKA_SASL_PASSWORD`. Without any of them connections are plain. An error message names the variable that is wrong.
 * `readFile` throws if it cannot read a file.
 */
export const kafkaSecurityOf = (
  env: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string
): KafkaSecurity | string => {
  const given = (name: string): string | undefined =>
    env[name] === undefined || env[name] === "" ? undefined : env[name]
  const files: Partial<Record<"ca" | "cert" | "key", string>> = {}
  for (const [option, name] of [
    ["ca", "KAFKA_SSL_CA_FILE"],
    ["cert", "KAFKA_SSL_CERT_FILE"],
    ["key", "KAFKA_SSL_KEY_FILE"]
  ] as const) {
    const path = given(name)
    if (path === undefined) continue
    try {
      files[option] = readFile(path)
    } catch (error) {
      return `${name} cannot be read: ${(error as Error).message}.`
    }
  }
  if ((files.cert === undefined) !== (files.key === undefined))
    return `${files.cert === undefined ? "KAFKA_SSL_CERT_FILE" : "KAFKA_SSL_KEY_FILE"} is missing: a certificate and its key go together.`
  const wanted = given("KAFKA_SSL")?.toLowerCase()
  if (wanted !== undefined && wanted !== "true" && wanted !== "false") return "KAFKA_SSL must be true or false."
  const hasFiles = Object.keys(files).length > 0
  if (wanted === "false" && hasFiles) return "KAFKA_SSL is false, though certificates are given."
  const ssl = hasFiles ? files : wanted === "true" ? (true as const) : undefined
  const mechanism = given("KAFKA_SASL_MECHANISM")?.toLowerCase()
  const username = given("KAFKA_SASL_USERNAME")
  const password = given("KAFKA_SASL_PASSWORD")
  if (mechanism === undefined) {
    const stray =
      username !== undefined ? "KAFKA_SASL_USERNAME" : password !== undefined ? "KAFKA_SASL_PASSWORD" : undefined
    return stray === undefined
      ? { ...(ssl === undefined ? {} : { ssl }) }
      : `${stray} is given without KAFKA_SASL_MECHANISM.`
  }
  if (!isMechanism(mechanism)) return `KAFKA_SASL_MECHANISM must be one of ${MECHANISMS.join(", ")}.`
  if (username === undefined || password === undefined)
    return `${username === undefined ? "KAFKA_SASL_USERNAME" : "KAFKA_SASL_PASSWORD"} is missing for KAFKA_SASL_MECHANISM.`
  if (mechanism === "plain" && ssl === undefined)
    return "KAFKA_SASL_MECHANISM plain sends the password readable; give KAFKA_SSL=true too."
  return { ...(ssl === undefined ? {} : { ssl }), sasl: { mechanism, username, password } as SASLOptions }
}
