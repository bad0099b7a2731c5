import type { Lexicon } from "./lexicon.ts"

export const en: Lexicon = {
  below:
    "sub # | under # | below # | less than # | lower than # | cheaper than # | lighter than # | smaller than # | shorter than # | fewer than # | beneath # | underneath #",
  atMost:
    "up to # | at most # | at the most # | max # | maximum # | maximum of # | a maximum of # | max of # | no more than # | not more than # | not exceeding # | not over # | not above # | # or less | # or cheaper | # or below | # or under | # or fewer | # max | # maximum | # tops | # at most | budget # | budget of # | budget is # | as low as # | within # | # or lower",
  above:
    "over # | above # | more than # | greater than # | higher than # | larger than # | bigger than # | heavier than # | longer than # | exceeding # | pricier than # | more expensive than # | better than #",
  atLeast:
    "at least # | minimum # | minimum of # | a minimum of # | min # | no less than # | not less than # | not under # | not below # | starting at # | starting from # | # or more | # and up | # or higher | # or above | # and above | # or better | # or over | # minimum | # at least | # upwards | # and more | # and over | # or up",
  exactly: "exactly # | precisely # | equal to #",
  between:
    "between # and # | between # to # | from # to # | from # up to # | from # until # | in the range # to # | ranging from # to #",
  around: "around # | about # | approximately # | approx # | roughly # | circa #",
  weakBetween: "# to # | # until #",
  weakAtLeast: "from #",
  weakAtMost: "for less #",
  not: "not | no | without | except | except for | excluding | other than | anything but | but not | never | non | minus | apart from | aside from | isn t | aren t | not a | exclude | don t want | do not want | won t | doesn t | does not | will not | shouldn t | must not",
  or: "or | nor",
  and: "and",
  cheapest:
    "cheapest | cheapest first | lowest price | lowest priced | lowest price first | least expensive | most affordable | cheapest possible | price low to high | by price low to high | low to high price | at the lowest price | with the lowest price",
  dearest:
    "most expensive | priciest | highest price | highest priced | most expensive first | highest price first | price high to low | dearest | with the highest price",
  newest:
    "newest | newest first | latest | most recent | most recent first | latest first | newly released | just released | recently added | new arrivals | brand new releases",
  oldest: "oldest | oldest first | earliest",
  bestRated:
    "best rated | top rated | highest rated | best reviewed | best rating | highest rating | best reviews | best rated first | with the best rating | with the best reviews | with the highest rating | by rating",
  mostPopular:
    "most popular | best selling | bestselling | bestseller | bestsellers | best sellers | best seller | most popular first | most sold | most bought | top selling | by popularity",
  lightest: "lightest | lightest first",
  heaviest: "heaviest | heaviest first",
  orderBy: "sort by | sorted by | order by | ordered by",
  ordered: "",
  ascending: "ascending | asc | low to high | lowest first | lowest to highest",
  descending: "descending | desc | high to low | highest first | highest to lowest",
  inStock: "in stock | available | available now | currently available | ready to ship | on stock",
  outOfStock: "out of stock | sold out | unavailable",
  onSale: "on sale | discounted | reduced | on offer | on special offer | marked down",
  freeShipping: "free shipping | free delivery | ships free",
  asking:
    "show me | show | find me | find | give me | get me | search for | search | looking for | look for | i am looking for | i m looking for | i want to buy | i want | i would like | i d like | i need | we need | we are looking for | do you have any | do you have | have you got any | have you got | can you show me | could you show me | list | list all | are there any | is there | what are the | which are the | recommend me | recommend | any",
  polite: "please | thanks | thank you",
  function:
    "a an the for in with of by from to at on that which is are be it its as and or but i me my some any this these those has have having made costs cost costing priced price price of rated whose who into than so if do does one ones only also just there here",
  thousand: "k | thousand | grand",
  million: "million",
  people:
    "kid kids child children toddler toddlers baby babies boy boys girl girls age aged ages people person adults teens teenagers players ages",
  numbers:
    "ten=10 twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9"
}
