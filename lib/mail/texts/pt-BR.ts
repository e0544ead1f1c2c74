import type { MailTexts } from '../mail-texts.ts'

export const PT_BR = (): MailTexts => ({
  password_reset: {
    heading: 'Definir uma nova senha',
    text: 'Alguém solicitou um link para definir uma nova senha para sua conta.',
    button: 'Definir uma nova senha',
    otherwise: 'Se não foi você, ignore esta mensagem: nada muda.'
  },
  verify_email: {
    heading: 'Confirme seu endereço de e-mail',
    text: 'Alguém criou uma conta com este endereço de e-mail. Se foi você, confirme o endereço.',
    button: 'Confirmar endereço',
    otherwise: 'Se não foi você, não confirme. Basta ignorar esta mensagem.'
  },
  already_registered: {
    heading: 'Você já tem uma conta',
    text: 'Alguém tentou criar uma conta com este endereço de e-mail, mas já existe uma conta com ele. Se foi você, entre ou defina uma nova senha aqui.',
    button: 'Definir uma nova senha',
    otherwise: 'Se não foi você, ignore esta mensagem.'
  },
  password_changed: {
    heading: 'Sua senha foi alterada',
    text: 'A senha da sua conta foi alterada, e todos os outros dispositivos foram desconectados.'
  },
  new_sign_in: {
    heading: 'Nova entrada na sua conta',
    text: 'Alguém entrou na sua conta com um dispositivo ou navegador que ainda não tinha sido usado nela.',
    button: 'Verificar sua conta'
  },
  email_change: {
    heading: 'Confirme seu novo endereço de e-mail',
    text: 'Alguém solicitou que este passe a ser o endereço de e-mail de uma conta. Se foi você, confirme o endereço: a partir daí, ele substituirá o anterior.',
    button: 'Confirmar endereço',
    otherwise: 'Se não foi você, não confirme. Basta ignorar esta mensagem.'
  },
  email_change_requested: {
    heading: 'Foi solicitado outro endereço de e-mail',
    text: 'Alguém solicitou a troca do endereço de e-mail da sua conta por outro. A troca será feita quando o link enviado a esse outro endereço for usado.',
    otherwise: 'Se não foi você, defina uma nova senha imediatamente: escolha “Esqueceu sua senha?” na página de entrada. Isso desconecta todos os dispositivos e cancela a troca.'
  },
  email_changed: {
    heading: 'Seu endereço de e-mail foi alterado',
    text: 'Sua conta agora tem outro endereço de e-mail. As mensagens não são mais enviadas para este, e os links enviados para ele não funcionam mais.',
    otherwise: 'Se não foi você, entre em contato conosco imediatamente.'
  },
  account_removed_user: {
    heading: 'Sua conta foi excluída',
    text: 'Sua conta foi excluída a pedido de alguém que tinha entrado nela. Todos os dispositivos foram desconectados.',
    otherwise: 'Se não foi você, entre em contato conosco imediatamente.'
  },
  account_removed_host: {
    heading: 'Sua conta foi excluída',
    text: 'Excluímos sua conta. Todos os dispositivos foram desconectados.'
  },
  identity_linked: {
    heading: 'Nova forma de entrar na sua conta',
    text: 'Uma conta de outro provedor foi vinculada à sua conta. Quem entra por lá também entra na sua conta.',
    otherwise: 'Se não foi você, desvincule-a imediatamente na página da sua conta e defina uma nova senha.'
  },
  identity_unlinked: {
    heading: 'Uma forma de entrar na sua conta foi removida',
    text: 'Uma conta de outro provedor foi desvinculada da sua conta. Ninguém mais pode entrar na sua conta com ela.'
  },
  second_factor_failed: {
    heading: 'Uma entrada parou na segunda etapa',
    text: 'Alguém passou pela primeira etapa de uma entrada na sua conta, mas falhou na segunda.'
  },
  factor_added_totp: {
    heading: 'Um aplicativo autenticador foi adicionado',
    text: 'Um aplicativo autenticador foi configurado para sua conta. A partir de agora, os códigos dele valem na entrada.'
  },
  factor_added_passkey: {
    heading: 'Uma chave de acesso foi adicionada',
    text: 'Uma chave de acesso foi configurada para sua conta. A partir de agora, ela vale na entrada.'
  },
  factor_added_recovery_codes: {
    heading: 'Novos códigos de recuperação foram criados',
    text: 'Novos códigos de recuperação foram criados para sua conta. Os anteriores não funcionam mais.'
  },
  factor_removed_totp: {
    heading: 'Um aplicativo autenticador foi removido',
    text: 'Um aplicativo autenticador não pertence mais à sua conta. Os códigos dele não valem mais na entrada.'
  },
  factor_removed_passkey: {
    heading: 'Uma chave de acesso foi removida',
    text: 'Uma chave de acesso não pertence mais à sua conta e não vale mais na entrada.'
  },
  factor_removed_all: {
    heading: 'Sua entrada em duas etapas foi redefinida',
    text: 'Todas as chaves de acesso, os aplicativos autenticadores e os códigos de recuperação da sua conta foram removidos, e todos os dispositivos foram desconectados.'
  },
  recovery_code_used: {
    heading: 'Um código de recuperação foi usado',
    text: 'Um código de recuperação foi usado para entrar na sua conta. Esse código não funciona mais.'
  },
  passkey_counter_regressed: {
    heading: 'Uma chave de acesso pode ter sido copiada',
    text: 'Uma chave de acesso da sua conta foi recusada: ela conta quantas vezes é usada e indicou menos do que antes. Pode existir uma cópia dela.',
    otherwise: 'Entre de outra forma, remova essa chave de acesso na página de segurança da sua conta e crie uma nova.'
  },
  sign_in_code: {
    heading: 'Seu código de acesso',
    text: 'Digite este código na página em que você o pediu.',
    button: 'Entrar',
    otherwise: 'Não conte este código a ninguém: nenhum de nós vai pedi-lo a você. Se você não o pediu, pode ignorar esta mensagem.'
  },
  secure: 'Se não foi você, defina uma nova senha imediatamente: escolha “Esqueceu sua senha?” na página de entrada.',
  secureWithoutPassword: 'Se não foi você, abra imediatamente a página da sua conta: escolha “Sair de todos os outros” e remova o que não for seu.',
  notAsked: 'Se você não nos pediu isso, entre em contato conosco imediatamente.',
  validity: 'O link é válido por {duration} e funciona uma única vez.',
  codeValidity: 'O código vale por {duration} e funciona uma única vez.',
  codeAsked: 'Ele foi pedido em {time} com: {browser}',
  hint: 'Se o botão não funcionar, abra este endereço:',
  signInTime: 'Hora: {time}',
  signInDevice: 'Dispositivo: {device}',
  signInAddress: 'Endereço IP: {address}',
  account: 'Conta: {username}'
})
