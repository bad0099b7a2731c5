import type { Lexicon } from "./lexicon.ts"

export const fr: Lexicon = {
  below:
    "moins de # | à moins de # | sous # | sous les # | en dessous de # | inférieur à # | inférieure à # | inférieurs à # | inférieures à # | moins cher que # | moins chère que # | moins chers que # | moins chères que # | au dessous de # | plus léger que # | plus petit que # | de moins de # | pour moins de #",
  atMost:
    "jusqu à # | jusque # | au maximum # | maximum # | un maximum de # | maximum de # | maximale # | maximale de # | maximal # | max # | au plus # | tout au plus # | pas plus de # | # ou moins | # maximum | # max | # au maximum | # au plus | # grand maximum | budget # | budget de # | ne dépassant pas # | qui ne dépasse pas # | qui ne coûte pas plus de # | ne dépasse pas # | d au plus #",
  above:
    "plus de # | au dessus de # | supérieur à # | supérieure à # | supérieurs à # | supérieures à # | plus cher que # | plus chère que # | plus chers que # | plus grand que # | à plus de # | de plus de # | plus lourd que #",
  atLeast:
    "au moins # | d au moins # | minimum # | un minimum de # | minimum de # | minimale # | minimale de # | au minimum # | à partir de # | dès # | pas moins de # | # ou plus | # et plus | # minimum | # au minimum | # au moins | # ou mieux | min # | # et au delà | # et au dessus",
  exactly: "exactement # | pile #",
  between: "entre # et # | entre les # et # | compris entre # et # | comprise entre # et # | situé entre # et #",
  around: "environ # | autour de # | dans les # | à peu près # | aux alentours de #",
  weakBetween: "de # à # | # à # | de # jusqu à # | # jusqu à #",
  weakAtLeast: "",
  weakAtMost: "pour # | à #",
  not: "pas | sans | sauf | excepté | hors | hormis | non | autre que | autres que | aucun | aucune | pas de | pas en | à part | ni | à l exception de | à l exclusion de | surtout pas | mais pas",
  or: "ou | ni",
  and: "et",
  cheapest:
    "moins cher | moins chère | moins chers | moins chères | le moins cher | les moins chers | la moins chère | les moins chères | meilleur prix | au meilleur prix | prix le plus bas | au prix le plus bas | plus abordable | plus abordables | plus économique | plus économiques | prix croissant | par prix croissant",
  dearest:
    "plus cher | plus chère | plus chers | plus chères | prix le plus élevé | prix décroissant | par prix décroissant | plus onéreux",
  newest:
    "plus récent | plus récente | plus récents | plus récentes | nouveautés | dernières nouveautés | derniers sortis | dernières sorties | plus nouveau | plus nouveaux | vient de sortir",
  oldest: "plus ancien | plus ancienne | plus anciens | plus anciennes",
  bestRated:
    "mieux noté | mieux notée | mieux notés | mieux notées | meilleure note | avec la meilleure note | meilleurs avis | avec les meilleurs avis | mieux évalué | mieux évaluée | mieux évalués | mieux évaluées | meilleures notes | avec les meilleures notes | avec la meilleure évaluation",
  mostPopular:
    "plus populaire | plus populaires | plus vendu | plus vendue | plus vendus | plus vendues | meilleures ventes | best seller | best sellers",
  lightest: "plus léger | plus légère | plus légers | plus légères",
  heaviest: "plus lourd | plus lourde | plus lourds | plus lourdes",
  orderBy:
    "trié par | triés par | triée par | triées par | trier par | classé par | classés par | classées par | trie par",
  ordered: "",
  ascending: "croissant | ascendant",
  descending: "décroissant | descendant",
  inStock: "en stock | disponible | disponibles | disponible immédiatement | disponible tout de suite",
  outOfStock:
    "en rupture de stock | en rupture | épuisé | épuisée | épuisés | épuisées | indisponible | indisponibles | pas en stock | pas disponible",
  onSale:
    "en promotion | en promo | en solde | en soldes | soldé | soldée | soldés | soldées | à prix réduit | remisé | remisés",
  freeShipping: "livraison gratuite | livraison offerte | frais de port offerts | port offert",
  asking:
    "je cherche | je recherche | recherche | cherche | je veux | je voudrais | j aimerais | j ai besoin de | j ai besoin d | il me faut | montre moi | montrez moi | trouve moi | trouvez moi | donne moi | affiche | afficher | avez vous | y a t il | nous cherchons | quels sont les | quelles sont les | je souhaite | je veux acheter",
  polite: "s il vous plaît | s il te plaît | svp | merci",
  function:
    "un une des le la les l de du d à au aux pour avec en et ou dans sur par qui que est sont soit soient coûte coûtent coûtant prix dont ce cette ces mon ma mes me se son sa ne n je j il elle mais couleur fait faite chez",
  thousand: "mille",
  million: "million | millions",
  people: "enfant enfants ans âge bébé bébés personnes adultes garçons filles",
  numbers:
    "dix=10 vingt=20 trente=30 quarante=40 cinquante=50 soixante=60 cent=100 mille=1000 deux=2 trois=3 quatre=4 cinq=5 six=6 huit=8"
}
