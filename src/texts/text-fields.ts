/** Fields of a collection that contain text, and a document's values in them. */
import type { CollectionInfo, Field } from "@dowser/engine-sdk"

export const textFieldsOf = ({ schema }: CollectionInfo): ReadonlyArray<Field> =>
  schema.fields.filter(
    ({ name, type }) => (type === "string" || type === "string[]") && name !== "id" && !name.includes("*")
  )
