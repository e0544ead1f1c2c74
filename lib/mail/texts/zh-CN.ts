import type { MailTexts } from '../mail-texts.ts'

export const ZH_CN = (): MailTexts => ({
  password_reset: {
    heading: '设置新密码',
    text: '我们收到了为您的账号设置新密码的请求。',
    button: '设置新密码',
    otherwise: '如果这不是您本人的操作，请忽略此邮件，不会有任何更改。'
  },
  verify_email: {
    heading: '验证您的电子邮箱',
    text: '有人使用此电子邮箱注册了账号。如果是您本人的操作，请验证此邮箱。',
    button: '验证邮箱',
    otherwise: '如果这不是您本人的操作，请勿验证。您可以忽略此邮件。'
  },
  already_registered: {
    heading: '您已有账号',
    text: '有人使用此电子邮箱注册账号，但该邮箱已有账号。如果是您本人的操作，请登录，或在此设置新密码。',
    button: '设置新密码',
    otherwise: '如果这不是您本人的操作，请忽略此邮件。'
  },
  password_changed: {
    heading: '您的密码已更改',
    text: '您的账号密码已更改，其他所有设备均已退出登录。'
  },
  new_sign_in: {
    heading: '您的账号有新的登录',
    text: '有人使用从未登录过的设备或浏览器登录了您的账号。',
    button: '检查您的账户'
  },
  email_change: {
    heading: '验证您的新电子邮箱',
    text: '有人请求将此电子邮箱用于其账号。如果是您本人的操作，请验证此邮箱：此后它将取代原来的邮箱。',
    button: '验证邮箱',
    otherwise: '如果这不是您本人的操作，请勿验证。您可以忽略此邮件。'
  },
  email_change_requested: {
    heading: '有人请求更改您的电子邮箱',
    text: '有人请求将您账号的电子邮箱更改为另一个邮箱。发送到该邮箱的链接被打开并确认后，更改即会生效。',
    otherwise: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。设置后，所有设备都将退出登录，此次更改也会取消。'
  },
  email_changed: {
    heading: '您的电子邮箱已更改',
    text: '您的账号现在使用另一个电子邮箱。此邮箱不再接收邮件，之前发送到此邮箱的链接也已失效。',
    otherwise: '如果这不是您本人的操作，请立即与我们联系。'
  },
  account_removed_user: {
    heading: '您的账号已删除',
    text: '应已登录该账号的用户的请求，您的账号已被删除。所有设备均已退出登录。',
    otherwise: '如果这不是您本人的操作，请立即与我们联系。'
  },
  account_removed_host: {
    heading: '您的账号已删除',
    text: '我们已删除您的账号。所有设备均已退出登录。'
  },
  identity_linked: {
    heading: '您的账号新增了一种登录方式',
    text: '其他服务商的一个账号已与您的账号关联。在该服务商登录的人也将登录到您的账号。',
    otherwise: '如果这不是您本人的操作，请立即在账号页面解除关联，并设置新密码。'
  },
  identity_unlinked: {
    heading: '您的账号已移除一种登录方式',
    text: '其他服务商的一个账号已与您的账号解除关联。任何人都无法再用它登录您的账号。'
  },
  second_factor_failed: {
    heading: '一次登录止于第二步',
    text: '有人通过了登录您账号的第一步，但未能通过第二步。'
  },
  factor_added_totp: {
    heading: '已添加一个身份验证器应用',
    text: '您的账号设置了一个身份验证器应用。今后登录时可使用其验证码。'
  },
  factor_added_passkey: {
    heading: '已添加一个通行密钥',
    text: '您的账号设置了一个通行密钥。今后登录时可使用它。'
  },
  factor_added_recovery_codes: {
    heading: '已生成新的恢复码',
    text: '您的账号生成了新的恢复码。之前的恢复码已失效。'
  },
  factor_removed_totp: {
    heading: '一个身份验证器应用已被移除',
    text: '一个身份验证器应用已不再属于您的账号，其验证码不能再用于登录。'
  },
  factor_removed_passkey: {
    heading: '一个通行密钥已被移除',
    text: '一个通行密钥已不再属于您的账号，不能再用于登录。'
  },
  factor_removed_all: {
    heading: '您的两步登录已重置',
    text: '您账号的所有通行密钥、身份验证器应用和恢复码均已移除，所有设备均已退出登录。'
  },
  recovery_code_used: {
    heading: '一个恢复码已被使用',
    text: '有人使用恢复码登录了您的账号。该恢复码已失效。'
  },
  passkey_counter_regressed: {
    heading: '通行密钥可能已被复制',
    text: '您账号的一个通行密钥被拒绝：它会记录使用次数，而这次报告的次数比之前少。可能存在它的副本。',
    otherwise: '请使用其他方式登录，在账号的安全页面移除此通行密钥，然后创建新的通行密钥。'
  },
  sign_in_code: {
    heading: '您的登录验证码',
    text: '请在您请求验证码的页面输入它。',
    button: '登录',
    otherwise: '请勿将此验证码告诉任何人：我们的工作人员绝不会向您索要。如果您没有请求过，可以忽略此邮件。'
  },
  secure: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。',
  secureWithoutPassword: '如果这不是您本人的操作，请立即打开账号页面：选择“退出其他所有登录”，并移除不属于您的内容。',
  notAsked: '如果您没有向我们提出此请求，请立即与我们联系。',
  validity: '此链接在{duration}内有效，且只能使用一次。',
  codeValidity: '验证码在{duration}内有效，只能使用一次。',
  codeAsked: '请求时间：{time}，浏览器：{browser}',
  hint: '如果按钮无法使用，请打开以下地址：',
  signInTime: '时间：{time}',
  signInDevice: '设备：{device}',
  signInAddress: 'IP 地址：{address}',
  account: '账号：{username}'
})
