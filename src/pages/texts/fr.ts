import type { Texts } from './en.ts'

// oxfmt-ignore
export const fr: Texts = {
  lang: 'fr', dir: 'ltr',
  sale:         { title: (shop) => `Paiement à ${shop}`,                    approved: 'Paiement accepté',  declined: 'Paiement refusé' },
  verification: { title: (shop) => `Vérification de la carte pour ${shop}`, approved: 'Carte vérifiée',    declined: 'Carte non vérifiée' },
  transfer:     { title: (shop) => `Transfert avec ${shop}`,                 approved: 'Transfert accepté',  declined: 'Transfert refusé' },
  ended:   { payment: 'Paiement', paidTo: (shop) => `Payé à ${shop}`, error: 'Paiement non effectué', processing: 'Votre paiement est toujours en cours', givenBack: 'L’argent de ce paiement est remboursé' },
  money:   { none: 'Aucun montant n’a été débité.', held: 'Le montant est réservé sur votre carte.', open: 'Veuillez ne pas payer une seconde fois pour l’instant. Le marchand vous indiquera le résultat.' },
  why:     { issuer: 'Votre banque a refusé. Veuillez la contacter ou utiliser une autre carte.', funds: 'Le solde ou le plafond de la carte est insuffisant.', expired: 'La carte a expiré.',
             authentication: 'Votre banque n’a pas pu confirmer votre identité.', timedOut: 'La confirmation n’est pas arrivée à temps.', cancelled: 'Vous avez annulé la confirmation.', technical: 'Un problème technique est survenu. Veuillez réessayer plus tard.', refused: 'Le marchand ne peut pas accepter ce paiement.' },
  wait:    { processed: 'Votre paiement est en cours. Cette page continue d’elle-même.', moment: 'Un instant. Cette page continue d’elle-même.', contacting: 'Connexion à votre banque…', taking: 'Redirection vers votre banque pour confirmer ce paiement…' },
  bank:    { title: 'Confirmez le paiement auprès de votre banque', asks: 'Votre banque vous demande de confirmer ce paiement.', frame: 'Votre banque : confirmer le paiement', says: 'Message de votre banque', go: 'Continuer vers votre banque', nothing: 'Rien ne s’affiche ci-dessus ?', whole: 'Ouvrir votre banque en pleine fenêtre' },
  back:    { title: 'Retour de votre banque', moment: 'Retour de votre banque. Un instant…', answered: 'Votre banque a répondu.', unread: 'La réponse de votre banque est illisible. Votre paiement est resté inchangé.' },
  go:      { on: 'Continuer', noScript: 'Les scripts sont désactivés dans ce navigateur. Le paiement fonctionne sans eux.', going: 'Vous retournez à la boutique.', shop: 'Retour à la boutique', app: 'Vous pouvez revenir à l’application.', payment: 'Retour au paiement' },
  missing: { title: 'Paiement introuvable', is: 'Ce paiement n’existe pas', help: 'Veuillez vérifier l’adresse, ou retourner à la boutique et réessayer.' },
  problem: { busy: 'Le service est surchargé', unread: 'Ces données sont illisibles', unchanged: 'Votre paiement est resté inchangé.', denied: 'Accès refusé' },
  away:    { title: 'Veuillez réessayer', is: 'Votre paiement ne peut pas être affiché pour le moment', help: 'Rien n’est perdu. Veuillez recharger cette page dans un instant.' },
  sum:     { yours: 'Cette carte est-elle la vôtre ?', card: 'Carte', confirm: 'Confirmer', wrong: 'Ce n’est pas le bon montant.',
             held: (least, most) => `Un petit montant, entre ${least} et ${most}, est réservé sur votre carte`,
             given: 'Votre banque l’indique dans son application ou dans un message. Quoi que vous saisissiez, il vous sera rendu.', unconfirmed: 'Le montant n’a pas été confirmé. Aucun montant ne sera débité, et le montant réservé vous sera rendu.',
             label: (currency) => `Montant réservé, en ${currency}`, noSum: (like) => `Ce n’est pas un montant. Écrivez-le ainsi : ${like}`, left: (tries, minutes) => `Il vous reste ${tries} ${tries === 1 ? 'essai' : 'essais'} et ${minutes}.` },
  receipt: { title: (order) => `Reçu ${order}`, missing: 'Ce reçu n’existe pas', help: 'Veuillez vérifier l’adresse, ou demander à la boutique où vous avez payé.', to: 'Payé à', for: 'Pour', order: 'Commande', payment: 'Paiement', card: 'Carte', approval: 'Code d’autorisation', reference: 'Référence', statement: 'Sur votre relevé', date: 'Date' },
}
