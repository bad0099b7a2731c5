/**
 * How each shop system writes a product, as mapping tables. Field names are those of the public documentation
 * (Shopify Admin REST product webhooks 2024-10; WooCommerce REST API v3 webhooks; Magento 2 REST catalog products;
 * PrestaShop webservice products; Bitrix24 crm.product and catalog.product; OpenCart product rows). A connector's own
 * mapping replaces its provider's.
 */
import { type Path, pathOf } from "./path.ts"
import type { Mapping } from "./source.ts"

/** How a shop system signs and labels what it sends. */
interface OwnHeaders {
  /** Base64 of HMAC-SHA256 over the raw body. */ readonly signature: string
  /** The kind of event; topics missing from `topics` do not concern products. */ readonly topic: string
  readonly topics: ReadonlyMap<string, "upsert" | "delete">
}
export interface Provider {
  readonly headers?: OwnHeaders
  /** Where to find the product's id. */ readonly id: ReadonlyArray<Path>
  /** A time in ISO 8601 or a number; the greatest one wins. */ readonly version: ReadonlyArray<Path>
  /** A product in one of these states is hidden, so its document is deleted. */
  readonly hidden?: { readonly at: ReadonlyArray<Path>; readonly states: ReadonlyArray<string> }
  readonly mapping: Mapping
}

/** The first of these that exists. */
const at = (...texts: ReadonlyArray<string>): ReadonlyArray<Path> =>
  texts.map((text) => {
    const path = pathOf(text)
    if (typeof path === "string") throw new Error(path)
    return path
  })
const shopify: Provider = {
  headers: {
    signature: "x-shopify-hmac-sha256",
    topic: "x-shopify-topic",
    topics: new Map([
      ["products/create", "upsert"],
      ["products/update", "upsert"],
      ["products/delete", "delete"]
    ])
  },
  id: at("id"),
  version: at("updated_at"),
  hidden: { at: at("status"), states: ["draft", "archived"] },
  mapping: {
    title: "title",
    description: { text: "body_html" },
    brand: "vendor",
    price: { number: { first_of: ["variants[0].price"] } },
    old_price: { number: "variants[0].compare_at_price" },
    categories: { list: "product_type" },
    tags: { list: "tags", split: "," },
    url: "handle",
    image: { first_of: ["image.src", "images[0].src"] },
    images: { list: "images[].src" },
    sku: { first_of: ["variants[0].sku", "variants[0].barcode"] },
    variant_skus: { list: "variants[].sku" },
    in_stock: { positive: "variants[0].inventory_quantity" },
    stock: { number: "variants[0].inventory_quantity" },
    attributes: { pairs: "options", name: "name", value: "values" }
  }
}
const wooCommerce: Provider = {
  headers: {
    signature: "x-wc-webhook-signature",
    topic: "x-wc-webhook-topic",
    topics: new Map([
      ["product.created", "upsert"],
      ["product.updated", "upsert"],
      ["product.restored", "upsert"],
      ["product.deleted", "delete"]
    ])
  },
  id: at("id"),
  version: at("date_modified_gmt", "date_modified"),
  hidden: { at: at("status"), states: ["draft", "pending", "private", "trash"] },
  mapping: {
    title: "name",
    description: { text: { first_of: ["description", "short_description"] } },
    brand: { first_of: ["brands[0].name", "attributes[name=Brand].options[0]"] },
    price: { number: { first_of: ["price", "sale_price", "regular_price"] } },
    old_price: { number: "regular_price" },
    categories: { list: "categories[].name" },
    tags: { list: "tags[].name" },
    url: "permalink",
    image: "images[0].src",
    images: { list: "images[].src" },
    in_stock: { flag: "stock_status", true_when: ["instock", "onbackorder"] },
    stock: { number: "stock_quantity" },
    sku: "sku",
    attributes: { pairs: "attributes", name: "name", value: "options" }
  }
}
const magento: Provider = {
  id: at("sku", "id"),
  version: at("updated_at"),
  hidden: { at: at("status"), states: ["2"] },
  mapping: {
    title: "name",
    description: {
      text: {
        first_of: [
          "custom_attributes[attribute_code=description].value",
          "custom_attributes[attribute_code=short_description].value"
        ]
      }
    },
    brand: { first_of: ["custom_attributes[attribute_code=manufacturer].value", "brand"] },
    price: { number: { first_of: ["custom_attributes[attribute_code=special_price].value", "price"] } },
    old_price: { number: "price" },
    url: { first_of: ["custom_attributes[attribute_code=url_key].value", "url"] },
    image: { first_of: ["custom_attributes[attribute_code=image].value", "media_gallery_entries[0].file"] },
    images: { list: "media_gallery_entries[].file" },
    in_stock: { flag: "extension_attributes.stock_item.is_in_stock" },
    stock: { number: "extension_attributes.stock_item.qty" },
    sku: "sku",
    attributes: { pairs: "custom_attributes", name: "attribute_code", value: "value" }
  }
}
const prestaShop: Provider = {
  id: at("product.id", "id"),
  version: at("product.date_upd", "date_upd"),
  hidden: { at: at("active"), states: ["0", "false"] },
  mapping: {
    title: { first_of: ["name[0].value", "name"] },
    description: { text: { first_of: ["description[0].value", "description", "description_short"] } },
    brand: "manufacturer_name",
    price: { number: "price" },
    url: { first_of: ["link_rewrite[0].value", "link_rewrite"] },
    categories: { list: "associations.categories[].name" },
    image: { first_of: ["image", "associations.images[0].url"] },
    images: { list: "associations.images[].url" },
    in_stock: { positive: "quantity" },
    stock: { number: "quantity" },
    sku: "reference",
    attributes: { pairs: "associations.product_features", name: "name", value: "value" }
  }
}
const bitrix: Provider = {
  id: at("ID", "id"),
  version: at("TIMESTAMP_X", "timestampX"),
  hidden: { at: at("ACTIVE"), states: ["N"] },
  mapping: {
    title: { first_of: ["NAME", "name"] },
    description: { text: { first_of: ["DETAIL_TEXT", "DESCRIPTION", "detailText", "PREVIEW_TEXT"] } },
    brand: { first_of: ["PROPERTY_BRAND.value", "PROPERTY_BRAND", "BRAND"] },
    price: { number: { first_of: ["PRICE", "price"] } },
    old_price: { number: "OLD_PRICE" },
    currency: { first_of: ["CURRENCY_ID", "currency"] },
    categories: { list: { first_of: ["SECTIONS[].NAME", "SECTION_NAME"] } },
    url: { first_of: ["DETAIL_PAGE_URL", "detailPageUrl"] },
    image: { first_of: ["DETAIL_PICTURE.SRC", "DETAIL_PICTURE", "PREVIEW_PICTURE.SRC", "PREVIEW_PICTURE"] },
    in_stock: { flag: { first_of: ["AVAILABLE", "available"] } },
    stock: { number: { first_of: ["QUANTITY", "quantity"] } },
    sku: { first_of: ["PROPERTY_ARTICLE.value", "PROPERTY_ARTICLE", "XML_ID", "xmlId"] },
    attributes: { pairs: "PROPERTIES", name: "NAME", value: "VALUE" }
  }
}
const openCart: Provider = {
  id: at("product_id", "id"),
  version: at("date_modified"),
  hidden: { at: at("status"), states: ["0", "false"] },
  mapping: {
    title: { first_of: ["name", "product_description.name"] },
    description: { text: { first_of: ["description", "product_description.description"] } },
    brand: "manufacturer",
    price: { number: { first_of: ["special", "price"] } },
    old_price: { number: "price" },
    categories: { list: { first_of: ["categories[].name", "categories"] } },
    url: { first_of: ["href", "url", "keyword"] },
    image: { first_of: ["image", "images[0].image"] },
    images: { list: { first_of: ["images[].image", "images"] } },
    in_stock: { positive: "quantity" },
    stock: { number: "quantity" },
    sku: { first_of: ["sku", "model"] },
    attributes: { pairs: "attribute_groups[].attribute[]", name: "name", value: "text" }
  }
}
/** `generic` has none: its documents are sent in the form in which they are stored. */
export const PROVIDERS: ReadonlyMap<string, Provider> = new Map([
  ["shopify", shopify],
  ["woocommerce", wooCommerce],
  ["magento", magento],
  ["prestashop", prestaShop],
  ["bitrix", bitrix],
  ["opencart", openCart]
])
export const PROVIDER_NAMES = [
  "generic",
  "shopify",
  "woocommerce",
  "magento",
  "prestashop",
  "bitrix",
  "opencart"
] as const
