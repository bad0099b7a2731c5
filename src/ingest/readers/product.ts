/** Helpers shared by the readers of product feeds. Pure. */
const NUMBER = /^-?\d{1,15}(?:\.\d{1,10})?$/
/** `1 299,50`, `1299.5`, `12.99 EUR`: the number and the text after it. */
export const priceOf = (
  text: string | undefined
): { readonly amount: number; readonly currency: string | undefined } | undefined => {
  // The form that nearly every feed writes.
  if (text !== undefined && NUMBER.test(text)) return { amount: Number(text), currency: undefined }
  const found = /^([\d\s\u00a0.,'-]+?)\s*([A-Za-z]{3})?$/.exec(text?.trim() ?? "")
  const digits = found?.[1]?.replaceAll(/[\s\u00a0']/g, "")
  if (digits === undefined || digits === "") return undefined
  const bare =
    digits.includes(".") && digits.includes(",")
      ? digits.lastIndexOf(",") > digits.lastIndexOf(".")
        ? digits.replaceAll(".", "").replace(",", ".")
        : digits.replaceAll(",", "")
      : digits.replace(",", ".")
  return NUMBER.test(bare) ? { amount: Number(bare), currency: found?.[2]?.toUpperCase() } : undefined
}
/** Many feeds still use the code of the rouble before 1998. */
export const currencyOf = (text: string | undefined): string | undefined => {
  const code = text?.trim().toUpperCase()
  return code === undefined || code === "" ? undefined : code === "RUR" ? "RUB" : code
}
/** Removes absent fields. */
export const withoutNothing = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const kept: Record<string, unknown> = {}
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0)) kept[name] = value
  }
  return kept
}
