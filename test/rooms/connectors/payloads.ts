/** Products in the format of shop systems, written by hand from their public documentation. */
export const shopifyProduct = {
  id: 788032119674292922n,
  title: "Example T-Shirt",
  body_html: "<p>A soft <em>shirt</em> &amp; more.</p>",
  vendor: "Acme",
  product_type: "Shirts",
  handle: "example-t-shirt",
  created_at: null,
  updated_at: "2021-12-31T19:00:00-05:00",
  status: "active",
  tags: "mens, t-shirt",
  variants: [
    {
      id: 642667041472713922n,
      title: "S",
      price: "19.00",
      compare_at_price: "24.50",
      sku: "SHIRT-1",
      inventory_quantity: 7
    },
    {
      id: 757650484644203962n,
      title: "M",
      price: "19.00",
      compare_at_price: null,
      sku: "SHIRT-2",
      inventory_quantity: 0
    }
  ],
  options: [
    { name: "Size", values: ["S", "M"] },
    { name: "Colour", values: ["black"] }
  ],
  images: [{ src: "https://shop.example/shirt.png" }, { src: "https://shop.example/back.png" }],
  image: null
}
export const wooCommerceProduct = {
  id: 794,
  name: "Premium Quality",
  slug: "premium-quality",
  permalink: "https://shop.example/product/premium-quality",
  date_modified: "2017-03-23T14:01:14",
  date_modified_gmt: "2017-03-23T17:01:14",
  status: "publish",
  description: "<p>Pellentesque habitant.</p>\n",
  short_description: "<p>Short.</p>",
  sku: "pq-1",
  price: "21.99",
  regular_price: "24.99",
  sale_price: "21.99",
  stock_quantity: 4,
  stock_status: "instock",
  categories: [
    { id: 9, name: "Clothing", slug: "clothing" },
    { id: 14, name: "T-shirts", slug: "t-shirts" }
  ],
  tags: [{ id: 3, name: "new" }],
  images: [{ src: "https://shop.example/a.jpg" }, { src: "https://shop.example/b.jpg" }],
  attributes: [
    { id: 1, name: "Brand", options: ["Acme"] },
    { id: 6, name: "Colour", options: ["Black", "Green"] }
  ]
}
