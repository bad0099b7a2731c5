/** Validation of a rule: returns a complete rule, or every invalid field. Pure. */
import { type Issue, invalidFields, issuesIn } from "../http/checks.ts"
import type { InputInvalid } from "../http/errors.ts"
import { isObject } from "../http/json-fields.ts"
import { PLACEHOLDERS, placeholdersIn, unknownPlaceholder } from "./placeholders.ts"
import { MIN_PRODUCTS, type SeoRule, TEMPLATE_MAX, type Templates, templatesByDefault, URL_MAX } from "./schema.ts"
import { SLUG_CHARACTERS_MAX } from "./slugs.ts"

export type RuleFields = Omit<SeoRule, "id" | "created_at" | "updated_at">

const FIELDS = ["collection", "name", "facet_field", "url_template", "site_name", "active", "min_products", "templates"]
const SLUG = "#SLUG#"
const NAME_CHARACTERS_MAX = 120
const MIN_PRODUCTS_MAX = 100
/** Room for the longest slug of a value; collisions make it slightly longer. */
const URL_TEMPLATE_MAX = URL_MAX - SLUG_CHARACTERS_MAX - 16

const textRefusal = (value: unknown, least: number, most: number): string | undefined => {
  if (typeof value !== "string" || value.trim().length < least || value.length > most)
    return `A text of ${least} to ${most} characters`
  return value.includes("\u0000") || !value.isWellFormed() ? "No NUL character and no half surrogate pair" : undefined
}

/** Address of a page. A mere path is used by a site that knows its own host. */
export const urlOf = (template: string, slug: string): string => {
  const filled = template.replace(SLUG, encodeURIComponent(slug))
  return URL.canParse(filled) ? new URL(filled).href : filled
}
/** Whether a page has an absolute address, which a sitemap needs. */
export const isAbsolute = (template: string): boolean => /^https?:\/\//i.test(template)

const partsOf = (template: string, slug: string): URL | undefined => {
  const filled = template.replace(SLUG, slug)
  const whole = isAbsolute(template) ? filled : `https://a.example${filled}`
  return URL.canParse(whole) ? new URL(whole) : undefined
}
const urlTemplateRefusal = (value: unknown): string | undefined => {
  const wrong = textRefusal(value, 1, URL_TEMPLATE_MAX)
  if (wrong !== undefined) return wrong
  const template = value as string
  if (!template.includes(SLUG)) return `\`${SLUG}\` stands where each page has its own name`
  const others = placeholdersIn(template).filter((name) => name !== "SLUG")
  if (others.length > 0) return `No placeholder but \`${SLUG}\``
  if (template.split(SLUG).length !== 2) return `\`${SLUG}\` once`
  if (!isAbsolute(template) && !/^\/(?![/\\])/.test(template)) return "An address with `https://`, or a path from `/`"
  const a = partsOf(template, "a"),
    b = partsOf(template, "b")
  if (a === undefined || b === undefined || a.username + a.password + a.hash !== "") return "An address of a page"
  return a.host !== b.host || a.href === b.href
    ? `\`${SLUG}\` in the path or the query: all pages have one host`
    : undefined
}

const templateRefusal = (value: unknown, most: number): string | undefined => {
  const wrong = textRefusal(value, 1, most)
  if (wrong !== undefined) return wrong
  const unknown = unknownPlaceholder(value as string)
  return unknown === undefined
    ? undefined
    : `\`#${unknown.slice(0, 40)}#\` is no placeholder; there are ${PLACEHOLDERS.map((name) => `#${name}#`).join(" ")}`
}
const templatesIssues = (templates: unknown): ReadonlyArray<Issue> => {
  if (!isObject(templates)) return [{ path: "templates", message: "An object of `title`, `description`, `h1`, `text`" }]
  return Object.entries(templates).flatMap(([name, value]) => {
    const path = `templates.${name.slice(0, 80)}`
    if (!Object.hasOwn(TEMPLATE_MAX, name)) return [{ path, message: "Unknown field" }]
    const message = templateRefusal(value, TEMPLATE_MAX[name as keyof typeof TEMPLATE_MAX])
    return message === undefined ? [] : [{ path, message }]
  })
}
const isCount = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MIN_PRODUCTS_MAX

/** A body as a complete rule; omitted fields get their defaults. */
export const ruleFieldsOf = (body: unknown): RuleFields | InputInvalid => {
  if (!isObject(body)) return invalidFields([{ path: "body", message: "A rule is an object" }])
  const {
    active = true,
    collection,
    facet_field,
    min_products = MIN_PRODUCTS,
    name,
    site_name = "",
    templates = {}
  } = body
  const path = typeof facet_field === "string" ? encodeURIComponent(facet_field.toWellFormed()) : ""
  const { url_template = `/${path || "pages"}/${SLUG}` } = body
  const issues = [
    ...issuesIn([
      ["collection", textRefusal(collection, 1, 256)],
      ["name", textRefusal(name, 1, NAME_CHARACTERS_MAX)],
      ["facet_field", textRefusal(facet_field, 1, 256)],
      ["url_template", urlTemplateRefusal(url_template)],
      ["site_name", textRefusal(site_name, 0, NAME_CHARACTERS_MAX)],
      ["active", typeof active === "boolean" ? undefined : "true or false"],
      ["min_products", isCount(min_products) ? undefined : `A whole number from 1 to ${MIN_PRODUCTS_MAX}`],
      ...Object.keys(body)
        .filter((field) => !FIELDS.includes(field))
        .map((field) => [field.slice(0, 80), "Unknown field"] as const)
    ]),
    ...templatesIssues(templates)
  ]
  if (issues.length > 0) return invalidFields(issues.slice(0, 100))
  return {
    collection: collection as string,
    name: (name as string).trim(),
    facet_field: facet_field as string,
    url_template: url_template as string,
    site_name: (site_name as string).trim(),
    active: active as boolean,
    min_products: min_products as number,
    templates: { ...templatesByDefault, ...(templates as Partial<Templates>) }
  }
}
