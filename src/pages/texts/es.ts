import type { Texts } from './en.ts'

// oxfmt-ignore
export const es: Texts = {
  lang: 'es', dir: 'ltr',
  sale:         { title: (shop) => `Pago a ${shop}`,                       approved: 'Pago aceptado',           declined: 'Pago rechazado' },
  verification: { title: (shop) => `Verificación de tarjeta para ${shop}`, approved: 'Tarjeta verificada',      declined: 'Tarjeta no verificada' },
  transfer:     { title: (shop) => `Transferencia con ${shop}`,            approved: 'Transferencia aceptada',  declined: 'Transferencia rechazada' },
  ended:   { payment: 'Pago', paidTo: (shop) => `Pagado a ${shop}`, error: 'Pago no completado', processing: 'Su pago aún se está procesando', givenBack: 'El dinero de este pago se devuelve' },
  money:   { none: 'No se le ha cobrado nada.', held: 'El importe está retenido en su tarjeta.', open: 'Por favor, no vuelva a pagar todavía. La tienda le comunicará el resultado.' },
  why:     { issuer: 'Su banco lo ha rechazado. Consulte a su banco o use otra tarjeta.', funds: 'El saldo o el límite de la tarjeta no es suficiente.', expired: 'La tarjeta ha caducado.',
             authentication: 'Su banco no ha podido confirmar su identidad.', timedOut: 'La confirmación no llegó a tiempo.', cancelled: 'Usted canceló la confirmación.', technical: 'Se ha producido un problema técnico. Inténtelo de nuevo más tarde.', refused: 'La tienda no puede aceptar este pago.' },
  wait:    { processed: 'Su pago se está procesando. Esta página continúa por sí sola.', moment: 'Un momento. Esta página continúa por sí sola.', contacting: 'Conectando con su banco…', taking: 'Le llevamos a su banco para confirmar este pago…' },
  bank:    { title: 'Confirme el pago con su banco', asks: 'Su banco le pide que confirme este pago.', frame: 'Su banco: confirmar el pago', says: 'Mensaje de su banco', go: 'Continuar a su banco', nothing: '¿No se ve nada arriba?', whole: 'Abrir su banco en toda la ventana' },
  back:    { title: 'De vuelta de su banco', moment: 'De vuelta de su banco. Un momento…', answered: 'Su banco ha respondido.', unread: 'No se pudo leer la respuesta de su banco. Su pago no ha cambiado.' },
  go:      { on: 'Continuar', noScript: 'Los scripts están desactivados en este navegador. El pago funciona sin ellos.', going: 'Está volviendo a la tienda.', shop: 'Volver a la tienda', app: 'Puede volver a la aplicación.', payment: 'Volver al pago' },
  missing: { title: 'Pago no encontrado', is: 'Este pago no existe', help: 'Compruebe la dirección, o vuelva a la tienda e inténtelo de nuevo.' },
  problem: { busy: 'El servicio está saturado', unread: 'No se pudo leer', unchanged: 'Su pago no ha cambiado.', denied: 'Acceso denegado' },
  away:    { title: 'Inténtelo de nuevo', is: 'Su pago no se puede mostrar en este momento', help: 'No se ha perdido nada. Vuelva a cargar esta página en un momento.' },
  sum:     { yours: '¿Es suya esta tarjeta?', card: 'Tarjeta', confirm: 'Confirmar', wrong: 'Ese no era el importe.',
             held: (least, most) => `Se ha retenido un pequeño importe, entre ${least} y ${most}, en su tarjeta`,
             given: 'Su banco lo muestra en su aplicación o en un mensaje. Escriba lo que escriba, se le devolverá.', unconfirmed: 'El importe no se confirmó. No se le cobra nada y se le devuelve el importe retenido.',
             label: (currency) => `Importe retenido, en ${currency}`, noSum: (like) => `Eso no es un importe. Escríbalo así: ${like}`, left: (tries, minutes) => `Le quedan ${tries} ${tries === 1 ? 'intento' : 'intentos'} y ${minutes}.` },
  receipt: { title: (order) => `Recibo ${order}`, missing: 'Este recibo no existe', help: 'Compruebe la dirección o pregunte en la tienda donde pagó.', to: 'Pagado a', for: 'Concepto', order: 'Pedido', payment: 'Pago', card: 'Tarjeta', approval: 'Código de autorización', reference: 'Referencia', statement: 'En su extracto', date: 'Fecha' },
}
