/** Fields of a collection that hold text, and what a document has there. */
import type { CollectionInfo, Field } from "@dowser/engine-sdk"

export const textFieldsOf = ({ schema }: CollectionInfo): ReadonlyArray<Field> =>
  schema.fields.filter(
    ({ name, type }) => (type === "string" || type === "string[]") && name !== "id" && !name.includes("*")
  )
