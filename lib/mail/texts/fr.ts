import type { MailTexts } from '../mail-texts.ts'

// No-break spaces before the high punctuation and inside the quotation marks, as French typography wants them.
export const FR = (): MailTexts => ({
  password_reset: {
    heading: 'Définir un nouveau mot de passe',
    text: 'Quelqu’un a demandé un lien pour définir un nouveau mot de passe pour votre compte.',
    button: 'Définir un nouveau mot de passe',
    otherwise: 'Si ce n’était pas vous, vous pouvez ignorer ce message\u00a0: rien ne change.'
  },
  verify_email: {
    heading: 'Confirmer votre adresse e-mail',
    text: 'Quelqu’un s’est inscrit avec cette adresse e-mail. Si c’était vous, confirmez l’adresse.',
    button: 'Confirmer l’adresse',
    otherwise: 'Si ce n’était pas vous, ne la confirmez pas. Vous pouvez ignorer ce message.'
  },
  already_registered: {
    heading: 'Vous avez déjà un compte',
    text: 'Quelqu’un a voulu s’inscrire avec cette adresse e-mail, mais elle est déjà celle d’un compte. Si c’était vous, connectez-vous ou définissez ici un nouveau mot de passe.',
    button: 'Définir un nouveau mot de passe',
    otherwise: 'Si ce n’était pas vous, vous pouvez ignorer ce message.'
  },
  password_changed: {
    heading: 'Votre mot de passe a été modifié',
    text: 'Le mot de passe de votre compte a été modifié, et tous les autres appareils ont été déconnectés.'
  },
  new_sign_in: {
    heading: 'Nouvelle connexion à votre compte',
    text: 'Quelqu’un s’est connecté à votre compte avec un appareil ou un navigateur qui n’avait pas encore été utilisé pour cela.',
    button: 'Vérifier votre compte'
  },
  email_change: {
    heading: 'Confirmer votre nouvelle adresse e-mail',
    text: 'Quelqu’un a demandé que cette adresse e-mail devienne celle de son compte. Si c’était vous, confirmez l’adresse\u00a0: elle remplacera alors la précédente.',
    button: 'Confirmer l’adresse',
    otherwise: 'Si ce n’était pas vous, ne la confirmez pas. Vous pouvez ignorer ce message.'
  },
  email_change_requested: {
    heading: 'Une autre adresse e-mail a été demandée',
    text: 'Quelqu’un a demandé de remplacer l’adresse e-mail de votre compte par une autre. Elle changera lorsque le lien envoyé à cette autre adresse sera utilisé.',
    otherwise: 'Si ce n’était pas vous, définissez immédiatement un nouveau mot de passe\u00a0: choisissez «\u00a0Mot de passe oublié\u00a0?\u00a0» sur la page de connexion. Tous les appareils seront déconnectés et le changement sera annulé.'
  },
  email_changed: {
    heading: 'Votre adresse e-mail a été modifiée',
    text: 'Votre compte a maintenant une autre adresse e-mail. Nos messages n’arrivent plus à celle-ci, et les liens qui y ont été envoyés ne fonctionnent plus.',
    otherwise: 'Si ce n’était pas vous, contactez-nous immédiatement.'
  },
  account_removed_user: {
    heading: 'Votre compte a été supprimé',
    text: 'Votre compte a été supprimé à la demande d’une personne qui y était connectée. Tous les appareils ont été déconnectés.',
    otherwise: 'Si ce n’était pas vous, contactez-nous immédiatement.'
  },
  account_removed_host: {
    heading: 'Votre compte a été supprimé',
    text: 'Nous avons supprimé votre compte. Tous les appareils ont été déconnectés.'
  },
  identity_linked: {
    heading: 'Nouveau moyen de connexion à votre compte',
    text: 'Un compte chez un autre fournisseur a été associé à votre compte. Toute personne qui s’y connecte est aussi connectée à votre compte.',
    otherwise: 'Si ce n’était pas vous, dissociez-le immédiatement sur la page de votre compte et définissez un nouveau mot de passe.'
  },
  identity_unlinked: {
    heading: 'Un moyen de connexion à votre compte a été retiré',
    text: 'Un compte chez un autre fournisseur a été dissocié de votre compte. Plus personne ne peut s’en servir pour se connecter à votre compte.'
  },
  second_factor_failed: {
    heading: 'Une connexion s’est arrêtée à la deuxième étape',
    text: 'Quelqu’un a passé la première étape d’une connexion à votre compte, mais a échoué à la deuxième.'
  },
  factor_added_totp: {
    heading: 'Une application d’authentification a été ajoutée',
    text: 'Une application d’authentification a été configurée pour votre compte. Ses codes comptent désormais à la connexion.'
  },
  factor_added_passkey: {
    heading: 'Une clé d’accès a été ajoutée',
    text: 'Une clé d’accès a été configurée pour votre compte. Elle compte désormais à la connexion.'
  },
  factor_added_recovery_codes: {
    heading: 'De nouveaux codes de récupération ont été créés',
    text: 'De nouveaux codes de récupération ont été créés pour votre compte. Les précédents ne fonctionnent plus.'
  },
  factor_removed_totp: {
    heading: 'Une application d’authentification a été supprimée',
    text: 'Une application d’authentification n’est plus associée à votre compte. Ses codes ne comptent plus à la connexion.'
  },
  factor_removed_passkey: {
    heading: 'Une clé d’accès a été supprimée',
    text: 'Une clé d’accès n’est plus associée à votre compte et ne compte plus à la connexion.'
  },
  factor_removed_all: {
    heading: 'Votre connexion en deux étapes a été réinitialisée',
    text: 'Toutes les clés d’accès, les applications d’authentification et les codes de récupération de votre compte ont été supprimés, et tous les appareils ont été déconnectés.'
  },
  recovery_code_used: {
    heading: 'Un code de récupération a été utilisé',
    text: 'Un code de récupération a été utilisé pour se connecter à votre compte. Ce code ne fonctionne plus.'
  },
  passkey_counter_regressed: {
    heading: 'Une clé d’accès a peut-être été copiée',
    text: 'Une clé d’accès de votre compte a été refusée\u00a0: elle compte ses utilisations et en indiquait moins qu’auparavant. Il en existe peut-être une copie.',
    otherwise: 'Connectez-vous autrement, supprimez cette clé d’accès sur la page de sécurité de votre compte, puis créez-en une nouvelle.'
  },
  sign_in_code: {
    heading: 'Votre code de connexion',
    text: 'Saisissez ce code sur la page où vous l’avez demandé.',
    button: 'Se connecter',
    otherwise: 'Ne communiquez ce code à personne : personne chez nous ne vous le demandera jamais. Si vous ne l’avez pas demandé, vous pouvez ignorer ce message.'
  },
  secure: 'Si ce n’était pas vous, définissez immédiatement un nouveau mot de passe\u00a0: choisissez «\u00a0Mot de passe oublié\u00a0?\u00a0» sur la page de connexion.',
  secureWithoutPassword: 'Si ce n’était pas vous, ouvrez immédiatement la page de votre compte\u00a0: choisissez «\u00a0Se déconnecter partout ailleurs\u00a0» et supprimez ce qui n’est pas à vous.',
  notAsked: 'Si vous ne nous l’avez pas demandé, contactez-nous immédiatement.',
  validity: 'Le lien est valable {duration} et ne fonctionne qu’une seule fois.',
  codeValidity: 'Le code est valable {duration} et ne fonctionne qu’une fois.',
  codeAsked: 'Il a été demandé le {time} avec : {browser}',
  hint: 'Si le bouton ne fonctionne pas, ouvrez cette adresse\u00a0:',
  signInTime: 'Heure\u00a0: {time}',
  signInDevice: 'Appareil\u00a0: {device}',
  signInAddress: 'Adresse IP\u00a0: {address}',
  account: 'Compte\u00a0: {username}'
})
