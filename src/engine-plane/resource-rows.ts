/**
 * Named resources and their rows: conversion in both directions, the maximum size, and the groups in which rows are
 * read.
 */
import type { ResourceKind, ResourceKinds } from "@dowser/engine-sdk/operations"
import { EngineRefusal } from "../http/errors.ts"
import { bytesOf, LIST_BYTES_MAX, VALUE_BYTES_MAX } from "../metering/named-resources.ts"

/** The content of a row: only stemming dictionaries are not stored as JSON. */
export const toRow = (kind: ResourceKind, value: unknown): unknown =>
  kind === "stemming_dictionary"
    ? {
        ...(value as ResourceKinds["stemming_dictionary"]),
        words: [...(value as ResourceKinds["stemming_dictionary"]).words]
      }
    : value
export const fromRow = (kind: ResourceKind, value: unknown): unknown =>
  kind === "stemming_dictionary"
    ? {
        ...(value as object),
        words: new Map((value as { readonly words: ReadonlyArray<readonly [string, string]> }).words)
      }
    : value

const isList: Readonly<Record<ResourceKind, boolean>> = {
  alias: false,
  preset: false,
  stopwords: false,
  stemming_dictionary: true,
  synonym_set: true,
  curation_set: true
}
/** A refusal for a value that is too large; undefined if it is not. */
export const tooLarge = (kind: ResourceKind, row: unknown): EngineRefusal | undefined => {
  const bytes_max = isList[kind] ? LIST_BYTES_MAX : VALUE_BYTES_MAX
  const refused = (what: string, limit: number) =>
    new EngineRefusal({ message: `${what} may have at most ${limit} bytes.`, status: 400 })
  if (bytesOf(row) > bytes_max) return refused(`The ${kind.replace("_", " ")}`, bytes_max)
  const { items } = row as { readonly items?: ReadonlyArray<{ readonly id: string }> }
  const item =
    kind === "synonym_set" || kind === "curation_set" ? items?.find((one) => bytesOf(one) > VALUE_BYTES_MAX) : undefined
  return item === undefined ? undefined : refused(`The item \`${item.id.slice(0, 80)}\``, VALUE_BYTES_MAX)
}

/** `value` is null if it is too large to be read. */
export interface Row {
  readonly organization_id: string
  readonly kind: ResourceKind
  readonly name: string
  readonly value: unknown
}

/**
 * More is not read: what one organization stored, however it got there, must not crash the process that reads it.
 * Both limits exceed every plan (`src/metering/plans.ts`). Organizations are read together up to this many bytes.
 */
export const VALUE_READ_BYTES_MAX = 16_000_000
export const ORGANIZATION_READ_BYTES_MAX = 512_000_000
const READ_TOGETHER_BYTES = 32_000_000
export interface Size {
  readonly organization_id: string
  readonly bytes: number
}
/** Groups of organizations that are read with one statement. */
export const readTogether = (sizes: ReadonlyArray<Size>): ReadonlyArray<ReadonlyArray<string>> => {
  const groups: Array<Array<string>> = []
  let room = 0
  for (const { bytes, organization_id } of sizes) {
    if (groups.length === 0 || bytes > room) {
      groups.push([])
      room = READ_TOGETHER_BYTES
    }
    groups[groups.length - 1]!.push(organization_id)
    room -= bytes
  }
  return groups
}

/** The subject of a change; kinds contain no slash. */
export const subjectOf = (kind: ResourceKind, name: string): string => `${kind}/${name}`
export const resourceOf = (subject: string): readonly [kind: ResourceKind, name: string] => {
  const slash = subject.indexOf("/")
  return [subject.slice(0, slash) as ResourceKind, subject.slice(slash + 1)]
}
