import type { MailTexts } from '../mail-texts.ts'

export const ES = (): MailTexts => ({
  password_reset: {
    heading: 'Establecer una contraseña nueva',
    text: 'Alguien ha pedido un enlace para establecer una contraseña nueva para su cuenta.',
    button: 'Establecer una contraseña nueva',
    otherwise: 'Si no ha sido usted, puede ignorar este mensaje: no cambia nada.'
  },
  verify_email: {
    heading: 'Confirmar su correo electrónico',
    text: 'Alguien se ha registrado con este correo electrónico. Si ha sido usted, confírmelo.',
    button: 'Confirmar correo electrónico',
    otherwise: 'Si no ha sido usted, no lo confirme. Puede ignorar este mensaje.'
  },
  already_registered: {
    heading: 'Ya tiene una cuenta',
    text: 'Alguien ha intentado registrarse con este correo electrónico, pero ya existe una cuenta con él. Si ha sido usted, inicie sesión o establezca aquí una contraseña nueva.',
    button: 'Establecer una contraseña nueva',
    otherwise: 'Si no ha sido usted, puede ignorar este mensaje.'
  },
  password_changed: {
    heading: 'Su contraseña ha cambiado',
    text: 'La contraseña de su cuenta ha cambiado y se ha cerrado la sesión en todos los demás dispositivos.'
  },
  new_sign_in: {
    heading: 'Nuevo inicio de sesión en su cuenta',
    text: 'Alguien ha iniciado sesión en su cuenta con un dispositivo o un navegador que no se había usado antes para ello.',
    button: 'Revisar su cuenta'
  },
  email_change: {
    heading: 'Confirmar su nuevo correo electrónico',
    text: 'Alguien ha pedido que este correo electrónico sea el de una cuenta. Si ha sido usted, confírmelo: desde entonces sustituirá al anterior.',
    button: 'Confirmar correo electrónico',
    otherwise: 'Si no ha sido usted, no lo confirme. Puede ignorar este mensaje.'
  },
  email_change_requested: {
    heading: 'Se ha pedido otro correo electrónico',
    text: 'Alguien ha pedido cambiar el correo electrónico de su cuenta por otro. El cambio se hará cuando se use el enlace que se ha enviado a ese otro correo.',
    otherwise: 'Si no ha sido usted, establezca una contraseña nueva de inmediato: elija «¿Ha olvidado su contraseña?» en la página de inicio de sesión. Así se cierran todas las sesiones y se detiene el cambio.'
  },
  email_changed: {
    heading: 'Su correo electrónico ha cambiado',
    text: 'Su cuenta tiene ahora otro correo electrónico. Los mensajes ya no llegan a este, y los enlaces que se enviaron aquí ya no funcionan.',
    otherwise: 'Si no ha sido usted, póngase en contacto con nosotros de inmediato.'
  },
  account_removed_user: {
    heading: 'Su cuenta se ha eliminado',
    text: 'Su cuenta se ha eliminado, como ha pedido alguien que había iniciado sesión en ella. Se ha cerrado la sesión en todos los dispositivos.',
    otherwise: 'Si no ha sido usted, póngase en contacto con nosotros de inmediato.'
  },
  account_removed_host: {
    heading: 'Su cuenta se ha eliminado',
    text: 'Hemos eliminado su cuenta. Se ha cerrado la sesión en todos los dispositivos.'
  },
  identity_linked: {
    heading: 'Nueva forma de iniciar sesión en su cuenta',
    text: 'Se ha vinculado a su cuenta una cuenta de otro proveedor. Quien inicie sesión allí también la inicia en su cuenta.',
    otherwise: 'Si no ha sido usted, desvincúlela de inmediato en la página de su cuenta y establezca una contraseña nueva.'
  },
  identity_unlinked: {
    heading: 'Se ha quitado una forma de iniciar sesión en su cuenta',
    text: 'Se ha desvinculado de su cuenta una cuenta de otro proveedor. Ya nadie puede iniciar sesión en su cuenta con ella.'
  },
  second_factor_failed: {
    heading: 'Un inicio de sesión se detuvo en el segundo paso',
    text: 'Alguien ha superado el primer paso de un inicio de sesión en su cuenta, pero ha fallado en el segundo.'
  },
  factor_added_totp: {
    heading: 'Se ha añadido una aplicación de autenticación',
    text: 'Se ha configurado una aplicación de autenticación para su cuenta. Desde ahora, sus códigos sirven para iniciar sesión.'
  },
  factor_added_passkey: {
    heading: 'Se ha añadido una llave de acceso',
    text: 'Se ha configurado una llave de acceso para su cuenta. Desde ahora sirve para iniciar sesión.'
  },
  factor_added_recovery_codes: {
    heading: 'Se han creado nuevos códigos de recuperación',
    text: 'Se han creado nuevos códigos de recuperación para su cuenta. Los anteriores ya no funcionan.'
  },
  factor_removed_totp: {
    heading: 'Se ha quitado una aplicación de autenticación',
    text: 'Una aplicación de autenticación ya no pertenece a su cuenta. Sus códigos ya no sirven para iniciar sesión.'
  },
  factor_removed_passkey: {
    heading: 'Se ha quitado una llave de acceso',
    text: 'Una llave de acceso ya no pertenece a su cuenta y no sirve para iniciar sesión.'
  },
  factor_removed_all: {
    heading: 'Se ha restablecido su inicio de sesión en dos pasos',
    text: 'Se han quitado de su cuenta todas las llaves de acceso, aplicaciones de autenticación y códigos de recuperación, y se ha cerrado la sesión en todos los dispositivos.'
  },
  recovery_code_used: {
    heading: 'Se ha usado un código de recuperación',
    text: 'Se ha usado un código de recuperación para iniciar sesión en su cuenta. Ese código ya no funciona.'
  },
  passkey_counter_regressed: {
    heading: 'Es posible que se haya copiado una llave de acceso',
    text: 'Se ha rechazado una llave de acceso de su cuenta: cuenta cuántas veces se usa y ha indicado menos que antes. Es posible que exista una copia.',
    otherwise: 'Inicie sesión de otra forma, elimine esta llave de acceso en la página de seguridad de su cuenta y cree una nueva.'
  },
  sign_in_code: {
    heading: 'Tu código de inicio de sesión',
    text: 'Introduce este código en la página en la que lo pediste.',
    button: 'Iniciar sesión',
    otherwise: 'No digas este código a nadie: nadie de nuestro equipo te lo pedirá nunca. Si no lo pediste, puedes ignorar este mensaje.'
  },
  secure: 'Si no ha sido usted, establezca una contraseña nueva de inmediato: elija «¿Ha olvidado su contraseña?» en la página de inicio de sesión.',
  secureWithoutPassword: 'Si no ha sido usted, abra de inmediato la página de su cuenta: elija «Cerrar las demás sesiones» y quite lo que no sea suyo.',
  notAsked: 'Si no nos lo ha pedido usted, póngase en contacto con nosotros de inmediato.',
  validity: 'El enlace es válido durante {duration} y funciona una sola vez.',
  codeValidity: 'El código es válido durante {duration} y funciona una sola vez.',
  codeAsked: 'Se pidió el {time} con: {browser}',
  hint: 'Si el botón no funciona, abra esta dirección:',
  signInTime: 'Hora: {time}',
  signInDevice: 'Dispositivo: {device}',
  signInAddress: 'Dirección IP: {address}',
  account: 'Cuenta: {username}'
})
