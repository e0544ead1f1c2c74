import type { MailTexts } from '../mail-texts.ts'

export const PL = (): MailTexts => ({
  password_reset: {
    heading: 'Ustaw nowe hasło',
    text: 'Otrzymaliśmy prośbę o link do ustawienia nowego hasła do Twojego konta.',
    button: 'Ustaw nowe hasło',
    otherwise: 'Jeśli ta prośba nie pochodzi od Ciebie, zignoruj tę wiadomość: nic się nie zmieni.'
  },
  verify_email: {
    heading: 'Potwierdź adres e-mail',
    text: 'Na ten adres e-mail zarejestrowano konto. Jeśli to Twoje konto, potwierdź adres.',
    button: 'Potwierdź adres',
    otherwise: 'Jeśli to nie Ty zakładasz konto, nie potwierdzaj adresu. Możesz zignorować tę wiadomość.'
  },
  already_registered: {
    heading: 'Masz już konto',
    text: 'Ktoś próbował zarejestrować konto na ten adres e-mail, ale takie konto już istnieje. Jeśli to Ty, zaloguj się albo ustaw tutaj nowe hasło.',
    button: 'Ustaw nowe hasło',
    otherwise: 'Jeśli to nie Ty, możesz zignorować tę wiadomość.'
  },
  password_changed: {
    heading: 'Twoje hasło zostało zmienione',
    text: 'Hasło do Twojego konta zostało zmienione, a wszystkie inne urządzenia wylogowano.'
  },
  new_sign_in: {
    heading: 'Nowe logowanie na Twoje konto',
    text: 'Ktoś zalogował się na Twoje konto z urządzenia lub przeglądarki, z których wcześniej nie korzystano.',
    button: 'Sprawdź swoje konto'
  },
  email_change: {
    heading: 'Potwierdź nowy adres e-mail',
    text: 'Otrzymaliśmy prośbę o przypisanie tego adresu e-mail do konta. Jeśli pochodzi od Ciebie, potwierdź adres: od tej chwili zastąpi on poprzedni.',
    button: 'Potwierdź adres',
    otherwise: 'Jeśli ta prośba nie pochodzi od Ciebie, nie potwierdzaj adresu. Możesz zignorować tę wiadomość.'
  },
  email_change_requested: {
    heading: 'Prośba o zmianę adresu e-mail',
    text: 'Otrzymaliśmy prośbę o zmianę adresu e-mail Twojego konta na inny. Zmiana nastąpi po użyciu linku wysłanego na tamten adres.',
    otherwise: 'Jeśli ta prośba nie pochodzi od Ciebie, natychmiast ustaw nowe hasło: wybierz „Nie pamiętasz hasła?” na stronie logowania. Spowoduje to wylogowanie wszystkich urządzeń i anulowanie zmiany.'
  },
  email_changed: {
    heading: 'Twój adres e-mail został zmieniony',
    text: 'Twoje konto ma teraz inny adres e-mail. Wiadomości nie będą już przychodzić na ten adres, a wysłane tu linki straciły ważność.',
    otherwise: 'Jeśli ta zmiana nie pochodzi od Ciebie, natychmiast się z nami skontaktuj.'
  },
  account_removed_user: {
    heading: 'Twoje konto zostało usunięte',
    text: 'Twoje konto zostało usunięte na prośbę zalogowanej na nim osoby. Wszystkie urządzenia wylogowano.',
    otherwise: 'Jeśli ta prośba nie pochodzi od Ciebie, natychmiast się z nami skontaktuj.'
  },
  account_removed_host: {
    heading: 'Twoje konto zostało usunięte',
    text: 'Usunęliśmy Twoje konto. Wszystkie urządzenia wylogowano.'
  },
  identity_linked: {
    heading: 'Nowy sposób logowania na Twoje konto',
    text: 'Z Twoim kontem połączono konto u innego dostawcy. Kto się tam zaloguje, zaloguje się też na Twoje konto.',
    otherwise: 'Jeśli ta zmiana nie pochodzi od Ciebie, natychmiast odłącz to konto na stronie swojego konta i ustaw nowe hasło.'
  },
  identity_unlinked: {
    heading: 'Usunięto jeden ze sposobów logowania na Twoje konto',
    text: 'Konto u innego dostawcy zostało odłączone od Twojego konta. Nikt już nie zaloguje się za jego pomocą na Twoje konto.'
  },
  second_factor_failed: {
    heading: 'Logowanie zatrzymane na drugim etapie',
    text: 'Ktoś przeszedł pierwszy etap logowania na Twoje konto, ale nie przeszedł drugiego.'
  },
  factor_added_totp: {
    heading: 'Dodano aplikację uwierzytelniającą',
    text: 'Na Twoim koncie skonfigurowano aplikację uwierzytelniającą. Od teraz jej kody służą do logowania.'
  },
  factor_added_passkey: {
    heading: 'Dodano klucz dostępu',
    text: 'Na Twoim koncie skonfigurowano klucz dostępu. Od teraz służy do logowania.'
  },
  factor_added_recovery_codes: {
    heading: 'Utworzono nowe kody odzyskiwania',
    text: 'Dla Twojego konta utworzono nowe kody odzyskiwania. Poprzednie już nie działają.'
  },
  factor_removed_totp: {
    heading: 'Usunięto aplikację uwierzytelniającą',
    text: 'Aplikacja uwierzytelniająca nie jest już powiązana z Twoim kontem. Jej kody nie działają już przy logowaniu.'
  },
  factor_removed_passkey: {
    heading: 'Usunięto klucz dostępu',
    text: 'Klucz dostępu nie jest już powiązany z Twoim kontem i nie działa już przy logowaniu.'
  },
  factor_removed_all: {
    heading: 'Zresetowano logowanie dwuetapowe',
    text: 'Z Twojego konta usunięto wszystkie klucze dostępu, aplikacje uwierzytelniające i kody odzyskiwania, a wszystkie urządzenia wylogowano.'
  },
  recovery_code_used: {
    heading: 'Użyto kodu odzyskiwania',
    text: 'Do zalogowania na Twoje konto użyto kodu odzyskiwania. Ten kod już nie działa.'
  },
  passkey_counter_regressed: {
    heading: 'Klucz dostępu mógł zostać skopiowany',
    text: 'Klucz dostępu do Twojego konta został odrzucony: liczy swoje użycia i podał ich mniej niż wcześniej. Może istnieć jego kopia.',
    otherwise: 'Zaloguj się w inny sposób, usuń ten klucz dostępu na stronie zabezpieczeń konta i utwórz nowy.'
  },
  sign_in_code: {
    heading: 'Twój kod logowania',
    text: 'Wpisz ten kod na stronie, na której o niego poproszono.',
    button: 'Zaloguj się',
    otherwise: 'Nie podawaj nikomu tego kodu: nikt od nas nigdy o niego nie zapyta. Jeśli to nie Ty o niego prosisz, możesz zignorować tę wiadomość.'
  },
  secure: 'Jeśli to nie Ty, natychmiast ustaw nowe hasło: wybierz „Nie pamiętasz hasła?” na stronie logowania.',
  secureWithoutPassword: 'Jeśli to nie Ty, natychmiast otwórz stronę swojego konta: wybierz „Wyloguj się wszędzie poza tą przeglądarką” i usuń to, co nie należy do Ciebie.',
  notAsked: 'Jeśli nie było to na Twoją prośbę, natychmiast się z nami skontaktuj.',
  validity: 'Czas ważności linku: {duration}. Można go użyć tylko raz.',
  codeValidity: 'Kod jest ważny przez {duration} i działa jeden raz.',
  codeAsked: 'Poproszono o niego {time}; przeglądarka: {browser}',
  hint: 'Jeśli przycisk nie działa, otwórz ten adres:',
  signInTime: 'Czas: {time}',
  signInDevice: 'Urządzenie: {device}',
  signInAddress: 'Adres IP: {address}',
  account: 'Konto: {username}'
})
