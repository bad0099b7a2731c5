/** TLS and SASL towards brokers: the environment variables, and a real broker that requires both. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { startKafka } from "../../src/cli/kafka.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerKafka } from "../../log/event-log/kafka.ts"
import { type KafkaSecurity, kafkaSecurityOf } from "../../log/event-log/kafka/security.ts"
import { kafkaMissing, kafkaVersion } from "../support/kafka.ts"

describe("security towards brokers", () => {
  const of = (env: Record<string, string>) =>
    kafkaSecurityOf(env, (path) => {
      if (path === "absent") throw new Error("no such file")
      return `content of ${path}`
    })

  it("is read from the environment", () => {
    assert.deepStrictEqual(of({}), {})
    assert.deepStrictEqual(of({ KAFKA_SSL: "", KAFKA_SASL_MECHANISM: "" }), {})
    assert.deepStrictEqual(of({ KAFKA_SSL: "true" }), { ssl: true })
    assert.deepStrictEqual(of({ KAFKA_SSL_CA_FILE: "ca" }), { ssl: { ca: "content of ca" } })
    assert.deepStrictEqual(of({ KAFKA_SSL_CERT_FILE: "c", KAFKA_SSL_KEY_FILE: "k" }), {
      ssl: { cert: "content of c", key: "content of k" }
    })
    assert.deepStrictEqual(
      of({ KAFKA_SASL_MECHANISM: "SCRAM-SHA-512", KAFKA_SASL_USERNAME: "u", KAFKA_SASL_PASSWORD: "p" }),
      { sasl: { mechanism: "scram-sha-512", username: "u", password: "p" } }
    )
  })

  it("is refused with the variable's name, and without the password", () => {
    const sasl = { KAFKA_SASL_MECHANISM: "plain", KAFKA_SASL_USERNAME: "u", KAFKA_SASL_PASSWORD: "secret-word" }
    for (const [env, names] of [
      [{ KAFKA_SSL: "yes" }, /KAFKA_SSL must/],
      [{ KAFKA_SSL: "false", KAFKA_SSL_CA_FILE: "ca" }, /KAFKA_SSL is false/],
      [{ KAFKA_SSL_CA_FILE: "absent" }, /KAFKA_SSL_CA_FILE cannot be read: no such file/],
      [{ KAFKA_SSL_CERT_FILE: "c" }, /KAFKA_SSL_KEY_FILE is missing/],
      [{ KAFKA_SSL_KEY_FILE: "k" }, /KAFKA_SSL_CERT_FILE is missing/],
      [{ ...sasl, KAFKA_SASL_MECHANISM: "" }, /KAFKA_SASL_USERNAME is given without/],
      [{ ...sasl, KAFKA_SASL_MECHANISM: "gssapi", KAFKA_SSL: "true" }, /KAFKA_SASL_MECHANISM must be one of/],
      [{ ...sasl, KAFKA_SASL_PASSWORD: "", KAFKA_SSL: "true" }, /KAFKA_SASL_PASSWORD is missing/],
      [sasl, /plain sends the password readable/]
    ] as const) {
      const refusal = of(env)
      if (typeof refusal !== "string") throw new Error(`accepted: ${JSON.stringify(env)}`)
      assert.match(refusal, names)
      assert.notInclude(refusal, "secret-word")
    }
  })

  const missing = kafkaMissing()
  it.skipIf(missing !== undefined)(
    `a broker behind TLS and SASL is written and read, and answers nobody without (${missing ?? `Kafka ${kafkaVersion}`})`,
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "dowser-kafka-tls-"))
      try {
        const [key, certificate, store] = ["key.pem", "certificate.pem", "store.pem"].map((name) =>
          join(folder, name)
        ) as [string, string, string]
        execFileSync(
          "openssl",
          [
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            key,
            "-out",
            certificate,
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1,DNS:localhost"
          ],
          { stdio: "ignore" }
        )
        writeFileSync(store, readFileSync(key, "utf8") + readFileSync(certificate, "utf8"))
        chmodSync(store, 0o600)
        const broker = await startKafka({
          folder,
          jarsFolder: fileURLToPath(new URL("../../node_modules/.cache/dowser-kafka", import.meta.url)),
          port: 0,
          version: kafkaVersion,
          report: () => {},
          settings: [
            "listener.security.protocol.map=BROKER:SASL_SSL,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms=PLAIN",
            "sasl.mechanism.inter.broker.protocol=PLAIN",
            'listener.name.broker.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="of-brokers" user_admin="of-brokers" user_dowser="of-dowser";',
            "ssl.keystore.type=PEM",
            `ssl.keystore.location=${store}`,
            "ssl.truststore.type=PEM",
            `ssl.truststore.location=${certificate}`,
            ""
          ].join("\n")
        })
        const use = (security: KafkaSecurity | string) =>
          Effect.runPromiseExit(
            Effect.gen(function* () {
              const log = yield* EventLog
              yield* log.append([
                { topic: "secret.v1", partition: 0, value: new TextEncoder().encode("spoken softly") }
              ])
              const { records } = yield* log.read({
                topic: "secret.v1",
                partition: 0,
                from: 0,
                recordsMax: 10,
                bytesMax: 1_000
              })
              return records.map(({ value }) => new TextDecoder().decode(value))
            }).pipe(
              Effect.provide(
                layerKafka({
                  brokers: [broker.address],
                  clientId: "test",
                  security: security as KafkaSecurity,
                  topics: [{ name: "secret.v1", partitions: 1, retention_ms: 3_600_000, compaction: false }],
                  appendWithin_ms: 10_000,
                  readWithin_ms: 10_000
                })
              ),
              Effect.timeout("40 seconds")
            )
          )
        try {
          const env = {
            KAFKA_SSL_CA_FILE: certificate,
            KAFKA_SASL_MECHANISM: "plain",
            KAFKA_SASL_USERNAME: "dowser",
            KAFKA_SASL_PASSWORD: "of-dowser"
          }
          const read = (path: string) => readFileSync(path, "utf8")
          const spoken = await use(kafkaSecurityOf(env, read))
          assert.deepStrictEqual(Exit.isSuccess(spoken) ? spoken.value : String(spoken), ["spoken softly"])
          const stranger = await use(kafkaSecurityOf({ ...env, KAFKA_SASL_PASSWORD: "guessed" }, read))
          assert.isTrue(Exit.isFailure(stranger), "a wrong password was taken")
          assert.notInclude(String(stranger), "guessed")
          assert.isTrue(Exit.isFailure(await use({})), "a plain connection was taken")
        } finally {
          await broker.stop()
        }
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
  )
})
