import type { MailTexts } from '../mail-texts.ts'

export const NL = (): MailTexts => ({
  password_reset: {
    heading: 'Nieuw wachtwoord instellen',
    text: 'Iemand heeft een link aangevraagd om een nieuw wachtwoord voor uw account in te stellen.',
    button: 'Nieuw wachtwoord instellen',
    otherwise: 'Was u dat niet, dan kunt u dit bericht negeren: er verandert niets.'
  },
  verify_email: {
    heading: 'Bevestig uw e-mailadres',
    text: 'Iemand heeft met dit e-mailadres een account aangemaakt. Was u dat, bevestig dan het adres.',
    button: 'Adres bevestigen',
    otherwise: 'Was u dat niet, bevestig het adres dan niet. U kunt dit bericht negeren.'
  },
  already_registered: {
    heading: 'U hebt al een account',
    text: 'Iemand wilde met dit e-mailadres een account aanmaken, maar er bestaat al een account mee. Was u dat, log dan in of stel hier een nieuw wachtwoord in.',
    button: 'Nieuw wachtwoord instellen',
    otherwise: 'Was u dat niet, dan kunt u dit bericht negeren.'
  },
  password_changed: {
    heading: 'Uw wachtwoord is gewijzigd',
    text: 'Het wachtwoord van uw account is gewijzigd en alle andere apparaten zijn uitgelogd.'
  },
  new_sign_in: {
    heading: 'Er is ingelogd op uw account',
    text: 'Iemand heeft op uw account ingelogd met een apparaat of browser die daar niet eerder voor is gebruikt.',
    button: 'Account controleren'
  },
  email_change: {
    heading: 'Bevestig uw nieuwe e-mailadres',
    text: 'Iemand wil dit e-mailadres voor zijn of haar account gaan gebruiken. Was u dat, bevestig dan het adres: vanaf dat moment vervangt het uw vorige adres.',
    button: 'Adres bevestigen',
    otherwise: 'Was u dat niet, bevestig het adres dan niet. U kunt dit bericht negeren.'
  },
  email_change_requested: {
    heading: 'Er is een ander e-mailadres aangevraagd',
    text: 'Iemand wil het e-mailadres van uw account door een ander vervangen. Dat gebeurt zodra de link wordt gebruikt die naar dat andere adres is gestuurd.',
    otherwise: 'Was u dat niet, stel dan direct een nieuw wachtwoord in: kies “Wachtwoord vergeten?” op de inlogpagina. Daarmee wordt iedereen uitgelogd en gaat de wijziging niet door.'
  },
  email_changed: {
    heading: 'Uw e-mailadres is gewijzigd',
    text: 'Uw account heeft nu een ander e-mailadres. Er worden geen berichten meer naar dit adres gestuurd, en links die hierheen zijn gestuurd, werken niet meer.',
    otherwise: 'Was u dat niet, neem dan direct contact met ons op.'
  },
  account_removed_user: {
    heading: 'Uw account is verwijderd',
    text: 'Uw account is verwijderd op verzoek van iemand die erop was ingelogd. Alle apparaten zijn uitgelogd.',
    otherwise: 'Was u dat niet, neem dan direct contact met ons op.'
  },
  account_removed_host: {
    heading: 'Uw account is verwijderd',
    text: 'Wij hebben uw account verwijderd. Alle apparaten zijn uitgelogd.'
  },
  identity_linked: {
    heading: 'Nieuwe manier om in te loggen op uw account',
    text: 'Een account bij een andere aanbieder is aan uw account gekoppeld. Wie daar inlogt, is ook op uw account ingelogd.',
    otherwise: 'Was u dat niet, ontkoppel het dan direct op uw accountpagina en stel een nieuw wachtwoord in.'
  },
  identity_unlinked: {
    heading: 'Een manier om in te loggen op uw account is verwijderd',
    text: 'Een account bij een andere aanbieder is van uw account losgekoppeld. Niemand kan er nog mee inloggen op uw account.'
  },
  second_factor_failed: {
    heading: 'Een inlogpoging stopte bij de tweede stap',
    text: 'Iemand is bij het inloggen op uw account voorbij de eerste stap gekomen, maar niet voorbij de tweede.'
  },
  factor_added_totp: {
    heading: 'Een authenticator-app is toegevoegd',
    text: 'Voor uw account is een authenticator-app ingesteld. De codes ervan tellen vanaf nu bij het inloggen.'
  },
  factor_added_passkey: {
    heading: 'Een passkey is toegevoegd',
    text: 'Voor uw account is een passkey ingesteld. Die telt vanaf nu bij het inloggen.'
  },
  factor_added_recovery_codes: {
    heading: 'Er zijn nieuwe herstelcodes gemaakt',
    text: 'Voor uw account zijn nieuwe herstelcodes gemaakt. De vorige werken niet meer.'
  },
  factor_removed_totp: {
    heading: 'Een authenticator-app is verwijderd',
    text: 'Een authenticator-app hoort niet meer bij uw account. De codes ervan tellen niet meer bij het inloggen.'
  },
  factor_removed_passkey: {
    heading: 'Een passkey is verwijderd',
    text: 'Een passkey hoort niet meer bij uw account en telt niet meer bij het inloggen.'
  },
  factor_removed_all: {
    heading: 'Uw inloggen in twee stappen is gereset',
    text: 'Alle passkeys, authenticator-apps en herstelcodes van uw account zijn verwijderd en alle apparaten zijn uitgelogd.'
  },
  recovery_code_used: {
    heading: 'Een herstelcode is gebruikt',
    text: 'Voor het inloggen op uw account is een herstelcode gebruikt. Die code werkt niet meer.'
  },
  passkey_counter_regressed: {
    heading: 'Mogelijk is een passkey gekopieerd',
    text: 'Een passkey van uw account is geweigerd: hij telt hoe vaak hij wordt gebruikt en gaf minder aan dan eerder. Mogelijk bestaat er een kopie van.',
    otherwise: 'Log op een andere manier in, verwijder deze passkey op de beveiligingspagina van uw account en maak een nieuwe aan.'
  },
  sign_in_code: {
    heading: 'Uw inlogcode',
    text: 'Vul deze code in op de pagina waar u hem hebt aangevraagd.',
    button: 'Inloggen',
    otherwise: 'Vertel deze code aan niemand: niemand van ons zal er ooit om vragen. Hebt u hem niet aangevraagd, dan kunt u dit bericht negeren.'
  },
  secure: 'Was u dat niet, stel dan direct een nieuw wachtwoord in: kies “Wachtwoord vergeten?” op de inlogpagina.',
  secureWithoutPassword: 'Was u dat niet, open dan direct uw accountpagina: kies “Overal elders uitloggen” en verwijder wat niet van u is.',
  notAsked: 'Hebt u ons daar niet om gevraagd, neem dan direct contact met ons op.',
  validity: 'De link is {duration} geldig en werkt één keer.',
  codeValidity: 'De code is {duration} geldig en werkt één keer.',
  codeAsked: 'Hij is aangevraagd op {time} met: {browser}',
  hint: 'Werkt de knop niet, open dan dit adres:',
  signInTime: 'Tijd: {time}',
  signInDevice: 'Apparaat: {device}',
  signInAddress: 'IP-adres: {address}',
  account: 'Account: {username}'
})
