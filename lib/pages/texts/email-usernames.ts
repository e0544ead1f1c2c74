import type { MessageKey } from './en.ts'

type Key = Extract<MessageKey, 'usernameLabel' | 'forgotText' | 'forgotSentText' | 'errorInvalidGrant' | 'errorUsernameTaken' | 'errorCharacters' | 'errorPasswordContext'>

/** What the pages say otherwise where usernames are e-mail addresses. The others speak of both. */
export const EMAIL_USERNAMES: Readonly<Record<'en' | 'de' | 'fr' | 'es' | 'ja', Readonly<Record<Key, string>>>> = {
  en: {
    usernameLabel: 'E-mail address',
    forgotText: 'Enter your e-mail address, and we will send you a link to set a new password.',
    forgotSentText: 'If there is an account with this address, a message with a link is on its way. The link works for a short time only.',
    errorInvalidGrant: 'The e-mail address or password is wrong.',
    errorUsernameTaken: 'There is already an account with this e-mail address.',
    errorCharacters: 'The e-mail address is too long or contains characters that are not allowed.',
    errorPasswordContext: 'This password is too easy to guess: it consists of your e-mail address or the name of this service. Please choose another one.'
  },
  de: {
    usernameLabel: 'E-Mail-Adresse',
    forgotText: 'Geben Sie Ihre E-Mail-Adresse ein. Wir schicken Ihnen dann einen Link, mit dem Sie ein neues Passwort festlegen können.',
    forgotSentText: 'Wenn es ein Konto mit dieser Adresse gibt, ist eine Nachricht mit einem Link unterwegs. Der Link gilt nur kurze Zeit.',
    errorInvalidGrant: 'Die E-Mail-Adresse oder das Passwort ist falsch.',
    errorUsernameTaken: 'Mit dieser E-Mail-Adresse gibt es schon ein Konto.',
    errorCharacters: 'Die E-Mail-Adresse ist zu lang oder enthält unzulässige Zeichen.',
    errorPasswordContext: 'Dieses Passwort ist zu leicht zu erraten: Es besteht aus Ihrer E-Mail-Adresse oder dem Namen dieses Dienstes. Bitte wählen Sie ein anderes.'
  },
  fr: {
    usernameLabel: 'Adresse e-mail',
    forgotText: 'Saisissez votre adresse e-mail. Nous vous enverrons un lien pour définir un nouveau mot de passe.',
    forgotSentText: 'S’il existe un compte avec cette adresse, un message contenant un lien est en route. Ce lien n’est valable que peu de temps.',
    errorInvalidGrant: 'L’adresse e-mail ou le mot de passe est incorrect.',
    errorUsernameTaken: 'Il existe déjà un compte avec cette adresse e-mail.',
    errorCharacters: 'L’adresse e-mail est trop longue ou contient des caractères non autorisés.',
    errorPasswordContext: 'Ce mot de passe est trop facile à deviner\u00a0: il se compose de votre adresse e-mail ou du nom de ce service. Veuillez en choisir un autre.'
  },
  es: {
    usernameLabel: 'Correo electrónico',
    forgotText: 'Introduzca su correo electrónico y le enviaremos un enlace para establecer una contraseña nueva.',
    forgotSentText: 'Si existe una cuenta con ese correo electrónico, recibirá un mensaje con un enlace. El enlace solo es válido durante poco tiempo.',
    errorInvalidGrant: 'El correo electrónico o la contraseña no son correctos.',
    errorUsernameTaken: 'Ya existe una cuenta con este correo electrónico.',
    errorCharacters: 'El correo electrónico es demasiado largo o contiene caracteres no permitidos.',
    errorPasswordContext: 'Esta contraseña es demasiado fácil de adivinar: se compone de su correo electrónico o del nombre de este servicio. Elija otra.'
  },
  ja: {
    usernameLabel: 'メールアドレス',
    forgotText: 'メールアドレスを入力してください。新しいパスワードを設定するためのリンクをお送りします。',
    forgotSentText: 'このメールアドレスのアカウントが存在する場合は、リンクを記載したメッセージをお送りします。リンクの有効期間は短いため、お早めにお使いください。',
    errorInvalidGrant: 'メールアドレスまたはパスワードが正しくありません。',
    errorUsernameTaken: 'このメールアドレスのアカウントはすでに存在します。',
    errorCharacters: 'メールアドレスが長すぎるか、使用できない文字が含まれています。',
    errorPasswordContext: 'このパスワードは、メールアドレスやこのサービスの名前からできているため、推測されやすくなっています。別のパスワードをお選びください。'
  }
}
