import type { Texts } from './en.ts'

// oxfmt-ignore
export const de: Texts = {
  lang: 'de', dir: 'ltr',
  sale:         { title: (shop) => `Zahlung an ${shop}`,         approved: 'Zahlung erfolgreich',      declined: 'Zahlung abgelehnt' },
  verification: { title: (shop) => `Kartenprüfung für ${shop}`,  approved: 'Karte bestätigt',          declined: 'Karte nicht bestätigt' },
  transfer:     { title: (shop) => `Überweisung über ${shop}`,   approved: 'Überweisung erfolgreich',  declined: 'Überweisung abgelehnt' },
  ended:   { payment: 'Zahlung', paidTo: (shop) => `Bezahlt an ${shop}`, error: 'Zahlung nicht abgeschlossen', processing: 'Ihre Zahlung wird noch bearbeitet', givenBack: 'Geld dieser Zahlung wird zurückgegeben' },
  money:   { none: 'Es wurde nichts abgebucht.', held: 'Der Betrag ist auf Ihrer Karte reserviert.', open: 'Bitte zahlen Sie noch nicht erneut. Das Ergebnis erfahren Sie im Shop.' },
  why:     { issuer: 'Ihre Bank hat abgelehnt. Bitte fragen Sie Ihre Bank oder verwenden Sie eine andere Karte.', funds: 'Das Guthaben oder das Limit der Karte reicht nicht aus.', expired: 'Die Karte ist abgelaufen.',
             authentication: 'Ihre Bank konnte nicht bestätigen, dass Sie es sind.', timedOut: 'Die Bestätigung kam nicht rechtzeitig.', cancelled: 'Sie haben die Bestätigung abgebrochen.', technical: 'Es gab ein technisches Problem. Bitte versuchen Sie es später noch einmal.', refused: 'Der Shop kann diese Zahlung nicht annehmen.' },
  wait:    { processed: 'Ihre Zahlung wird bearbeitet. Es geht von selbst weiter.', moment: 'Einen Moment. Es geht von selbst weiter.', contacting: 'Verbindung zu Ihrer Bank…', taking: 'Sie werden zu Ihrer Bank geleitet, um die Zahlung zu bestätigen…' },
  bank:    { title: 'Bestätigen Sie die Zahlung bei Ihrer Bank', asks: 'Ihre Bank bittet Sie, diese Zahlung zu bestätigen.', frame: 'Ihre Bank: Zahlung bestätigen', says: 'Mitteilung Ihrer Bank', go: 'Weiter zu Ihrer Bank', nothing: 'Oben ist nichts zu sehen?', whole: 'Ihre Bank im ganzen Fenster öffnen' },
  back:    { title: 'Zurück von Ihrer Bank', moment: 'Zurück von Ihrer Bank. Einen Moment…', answered: 'Ihre Bank hat geantwortet.', unread: 'Die Antwort Ihrer Bank war nicht lesbar. An Ihrer Zahlung hat sich nichts geändert.' },
  go:      { on: 'Weiter', noScript: 'In diesem Browser sind Skripte ausgeschaltet. Die Zahlung funktioniert auch ohne sie.', going: 'Sie werden zum Shop zurückgeleitet.', shop: 'Zurück zum Shop', app: 'Sie können zur App zurückkehren.', payment: 'Zurück zur Zahlung' },
  missing: { title: 'Zahlung nicht gefunden', is: 'Diese Zahlung gibt es nicht', help: 'Bitte prüfen Sie die Adresse oder versuchen Sie es im Shop noch einmal.' },
  problem: { busy: 'Der Dienst ist ausgelastet', unread: 'Das war nicht lesbar', unchanged: 'An Ihrer Zahlung hat sich nichts geändert.', denied: 'Zugriff verweigert' },
  away:    { title: 'Bitte noch einmal versuchen', is: 'Ihre Zahlung kann gerade nicht angezeigt werden', help: 'Es ist nichts verloren. Bitte laden Sie diese Seite gleich noch einmal.' },
  sum:     { yours: 'Ist das Ihre Karte?', card: 'Karte', confirm: 'Bestätigen', wrong: 'Das war nicht der Betrag.',
             held: (least, most) => `Wir haben einen kleinen Betrag zwischen ${least} und ${most} reserviert, und zwar auf Ihrer Karte`,
             given: 'Ihre Bank zeigt ihn in ihrer App oder in einer Nachricht an. Sie erhalten ihn in jedem Fall zurück.', unconfirmed: 'Der Betrag wurde nicht bestätigt. Es wird nichts abgebucht, und die Reservierung wird aufgehoben.',
             label: (currency) => `Reservierter Betrag in ${currency}`, noSum: (like) => `Das war kein Betrag. Schreiben Sie ihn so: ${like}`, left: (tries, minutes) => `Noch ${tries} ${tries === 1 ? 'Versuch' : 'Versuche'} und ${minutes}.` },
  receipt: { title: (order) => `Beleg ${order}`, missing: 'Diesen Beleg gibt es nicht', help: 'Bitte prüfen Sie die Adresse oder fragen Sie im Shop nach.', to: 'Bezahlt an', for: 'Für', order: 'Bestellung', payment: 'Zahlung', card: 'Karte', approval: 'Genehmigungscode', reference: 'Referenz', statement: 'Auf Ihrem Kontoauszug', date: 'Datum' },
}
