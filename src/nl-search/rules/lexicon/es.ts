import type { Lexicon } from "./lexicon.ts"

export const es: Lexicon = {
  below:
    "menos de # | por menos de # | bajo # | por debajo de # | inferior a # | inferiores a # | debajo de # | menor que # | menor de # | menor a # | más barato que # | más barata que # | más baratos que # | más baratas que # | de menos de # | menores de # | más ligero que #",
  atMost:
    "hasta # | como máximo # | máximo # | máximo de # | un máximo de # | máxima # | máxima de # | máximos # | no más de # | a lo sumo # | # o menos | # como máximo | # máximo | # como mucho | como mucho # | max # | presupuesto # | presupuesto de # | que no pase de # | que no supere # | que no superen # | que no cueste más de # | que no cuesten más de # | # a lo sumo | de hasta #",
  above:
    "más de # | mayor que # | mayor de # | mayor a # | por encima de # | superior a # | superiores a # | por más de # | de más de # | más caro que # | más cara que # | más caros que # | mayores de # | más pesado que # | encima de #",
  atLeast:
    "al menos # | por lo menos # | mínimo # | mínimo de # | un mínimo de # | mínima # | mínima de # | como mínimo # | a partir de # | desde # | no menos de # | # o más | # como mínimo | # mínimo | # en adelante | # por lo menos | # al menos | # para arriba | min # | # o mejor | # o superior | # o superiores",
  exactly: "exactamente # | justo #",
  between: "entre # y # | entre # e # | desde # hasta # | entre los # y # | entre los # y los # | entre # a #",
  around: "alrededor de # | unos # | unas # | aproximadamente # | cerca de # | sobre los #",
  weakBetween: "de # a # | # a # | de # hasta # | # hasta #",
  weakAtLeast: "",
  weakAtMost: "por #",
  not: "no | sin | excepto | salvo | que no sea | que no sean | menos | ni | nada de | excluyendo | que no sea de | que no sean de",
  or: "o | u | ni",
  and: "y | e",
  cheapest:
    "más barato | más barata | más baratos | más baratas | el más barato | más económico | más económica | más económicos | más económicas | menor precio | al menor precio | precio más bajo | al precio más bajo | con el precio más bajo | precio ascendente | de menor a mayor precio",
  dearest:
    "más caro | más cara | más caros | más caras | mayor precio | precio más alto | de mayor a menor precio | con el precio más alto",
  newest:
    "más nuevo | más nueva | más nuevos | más nuevas | más reciente | más recientes | novedades | lo último | recién llegado | recién llegados | últimas novedades | lo más nuevo | recién salidos | recién salidas",
  oldest: "más antiguo | más antigua | más antiguos | más antiguas",
  bestRated:
    "mejor valorado | mejor valorada | mejor valorados | mejor valoradas | mejor puntuado | mejor puntuada | mejor puntuados | mejor puntuadas | mejor calificado | mejor calificada | mejor calificados | mejor calificadas | mejores opiniones | con las mejores opiniones | mejor valoración | con mejor valoración | mejores valoraciones | con mejores valoraciones | con la mejor valoración",
  mostPopular:
    "más popular | más populares | más vendido | más vendida | más vendidos | más vendidas | superventas | más buscado | más buscados",
  lightest:
    "más ligero | más ligera | más ligeros | más ligeras | más liviano | más liviana | más livianos | más livianas",
  heaviest: "más pesado | más pesada | más pesados | más pesadas",
  orderBy: "ordenado por | ordenados por | ordenada por | ordenadas por | ordenar por | ordena por",
  ordered: "",
  ascending: "ascendente | de menor a mayor",
  descending: "descendente | de mayor a menor",
  inStock:
    "en stock | disponible | disponibles | en existencia | en existencias | disponible ahora | con stock | que haya en stock | hay stock",
  outOfStock:
    "agotado | agotada | agotados | agotadas | sin stock | fuera de stock | no disponible | no disponibles | sin existencias",
  onSale:
    "en oferta | rebajado | rebajada | rebajados | rebajadas | con descuento | en rebaja | en rebajas | de oferta | en promoción",
  freeShipping: "envío gratis | envío gratuito | con envío gratis | gastos de envío gratis",
  asking:
    "busco | estoy buscando | quiero | quisiera | quiero comprar | necesito | muéstrame | muestra | enséñame | dame | encuentra | encuéntrame | buscar | me gustaría | tenéis | tienen | tienes | hay | ver | quiero ver | buscamos | cuáles son los | cuáles son las",
  polite: "por favor | gracias",
  function:
    "un una unos unas el la los las lo de del al a para por con en y o que es son sea sean este esta cuesta cueste cuesten cuestan precio cuyo cuya hecho hecha me mi se su algo alguno alguna algún pero como no color",
  thousand: "mil",
  million: "millón | millones",
  people: "niño niños niña niñas años edad personas bebé bebés adultos jóvenes",
  numbers:
    "diez=10 veinte=20 treinta=30 cuarenta=40 cincuenta=50 sesenta=60 setenta=70 ochenta=80 noventa=90 cien=100 doscientos=200 trescientos=300 cuatrocientos=400 quinientos=500 mil=1000 dos=2 tres=3 cuatro=4 cinco=5 seis=6 ocho=8"
}
