package service

const abstractSockets = true
