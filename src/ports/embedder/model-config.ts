/**
 * What a field's `embed.model_config` names: a model of this program (`dowser/…`) or of a server, `kind/model`. Its
 * credentials are stored sealed, so that a copy of the engine's data grants no access. The first five characters stay
 * readable, because answers show them.
 */
import type { ModelConfig } from "@dowser/engine-sdk/embedding"
import { LSA_NAME } from "../text-embedder/lsa/model.ts"
import { OPERATOR_KIND } from "../text-embedder/operator/models-file.ts"
import { isRemoteKind, type RemoteModel } from "../text-embedder/remote/providers.ts"

type NamedModel =
  | { readonly kind: "local"; readonly name: string }
  /** Trained on a collection, identified by its hash. */
  | { readonly kind: "trained"; readonly hash: string }
  | { readonly kind: "remote"; readonly model: RemoteModel }

const SECRETS = ["api_key", "access_token", "refresh_token", "client_secret"] as const
const SHOWN = 5
/** No credential contains a space. */
const MARK = " sealed:"

/** Encrypts with the operator's key (`src/access/seal.ts`). */
export interface Sealing {
  readonly seal: (plain: Uint8Array) => string
  readonly open: (sealed: string) => Buffer
}

export const withSealed = (seal: Sealing, config: ModelConfig): ModelConfig => {
  const sealed: Record<string, unknown> = { ...config }
  for (const name of SECRETS) {
    const secret = Object.hasOwn(config, name) ? config[name] : undefined
    if (typeof secret !== "string" || secret === "" || secret.includes(MARK)) continue
    sealed[name] = `${secret.slice(0, SHOWN)}${MARK}${seal.seal(new TextEncoder().encode(secret))}`
  }
  return sealed
}
/** Returns undefined if the text was sealed with another key, or is forged. */
const opened = (seal: Sealing, text: unknown): string | undefined => {
  if (typeof text !== "string") return undefined
  const at = text.indexOf(MARK)
  if (at < 0) return text
  try {
    return seal.open(text.slice(at + MARK.length)).toString("utf8")
  } catch {
    return undefined
  }
}

/** Returns undefined if the name is not that of a model. */
export const modelIn = (seal: Sealing, config: ModelConfig): NamedModel | undefined => {
  const name = config.model_name
  const [, kind, model] = typeof name === "string" ? (/^([a-z]+)\/(.+)$/.exec(name) ?? []) : []
  if (kind === undefined || model === undefined) return undefined
  if (name === LSA_NAME)
    return typeof config.model_version === "string" ? { kind: "trained", hash: config.model_version } : undefined
  if (kind === "dowser" || kind === OPERATOR_KIND) return { kind: "local", name: name as string }
  if (!isRemoteKind(kind)) return undefined
  const url = config.url
  return {
    kind: "remote",
    model: {
      kind,
      model,
      url: typeof url === "string" && url !== "" ? url : undefined,
      apiKey: opened(seal, config.api_key)
    }
  }
}
/** What distinguishes two models; credentials do not. */
export const identityOf = ({ kind, model, url }: RemoteModel): string => JSON.stringify([kind, model, url ?? ""])
